// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Puts the bodies of replies into files, on the main thread, which may wait for a disk.

import SocketStreams

/// Where the bodies of replies go, one after the other.
actor ReplyStore {
  /// What came of something that the store was asked for.
  enum Outcome: Sendable {
    case done
    /// The file is whole, or kept as far as it goes.
    case file(path: String, count: Int)
    case failed(Failure)
  }

  typealias Answer = @Sendable (Outcome) -> Void

  private nonisolated let base: EventBase
  private let folder: String
  private var file: PartFile?
  private var failure: Failure?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter base: The main thread's loop.
  init(on base: EventBase, folder: String) {
    self.base = base
    self.folder = folder == "/" ? "" : folder.hasSuffix("/") ? String(folder.dropLast()) : folder
  }

  private nonisolated func perform(_ body: @escaping @Sendable (isolated ReplyStore) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  /// Begins the file `name` of the folder. What can be wrong with that is answered to what comes next.
  nonisolated func begin(_ name: String) { perform { $0.open(name) } }

  /// Adds to the file. The answer comes on the main thread, as all do.
  nonisolated func write(_ bytes: [UInt8], _ answer: @escaping Answer) {
    perform { store in
      answer(
        store.attempt { file throws(OutputFailure) in
          try file.write(bytes)
          return .done
        })
    }
  }

  /// Ends the file; only if it is whole it gets its name.
  nonisolated func end(isWhole: Bool, _ answer: @escaping Answer) {
    perform { store in
      answer(
        store.attempt { file throws(OutputFailure) in
          try isWhole ? file.finish() : file.end()
          return .file(path: isWhole ? file.path : file.partPath, count: file.count)
        })
      (store.file, store.failure) = (nil, nil)
    }
  }

  private func open(_ name: String) {
    let path = "\(folder)/\(name)"
    failure = nil
    do {
      file = try PartFile(path)
    } catch {
      (file, failure) = (nil, error.failure(path + ".part", during: .write))
    }
  }

  private func attempt(_ body: (PartFile) throws(OutputFailure) -> Outcome) -> Outcome {
    if let failure { return .failed(failure) }
    guard let file else { return .done }
    do {
      return try body(file)
    } catch {
      let failure = error.failure(file.partPath, during: .write)
      self.failure = failure
      return .failed(failure)
    }
  }
}

// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One caller's share in a look-up, and the errors of look-ups.

internal import Glibc

/// One caller waiting for an answer: it gets one, or none after it gave up.
///
/// `@unchecked Sendable`: the lock guards what changes.
final class PendingAnswer: ResolverRequest, @unchecked Sendable {
  typealias Completion = @Sendable (Result<[SocketAddress], StreamError>) -> Void

  private let lock = Lock()
  private var completion: Completion?
  private var onCancel: (@Sendable (PendingAnswer) -> Void)?

  init(_ completion: @escaping Completion, onCancel: (@Sendable (PendingAnswer) -> Void)? = nil) {
    self.completion = completion
    self.onCancel = onCancel
  }

  func cancel() {
    let (dropped, notice) = take()
    if dropped != nil { notice?(self) }
  }

  /// Answers on the calling thread, unless the caller gave up or was answered before.
  func answer(_ result: Result<[SocketAddress], StreamError>) { take().completion?(result) }

  /// Answers soon, on the library's own loop: never while the caller is still inside `resolve`, even on that thread.
  func post(_ result: Result<[SocketAddress], StreamError>) {
    EventLoop.shared.execute { self.answer(result) }
  }

  /// Hands out the closures, to one caller only. What they hold goes outside of the lock, as it may run code.
  private func take() -> (completion: Completion?, onCancel: (@Sendable (PendingAnswer) -> Void)?) {
    lock.withLock {
      defer {
        completion = nil
        onCancel = nil
      }
      return (completion, onCancel)
    }
  }
}

extension StreamError {
  enum ResolverCode {
    case noName, noData

    var rawValue: Int32 {
      switch self {
      case .noName: EAI_NONAME
      // EAI_NODATA, which <netdb.h> declares under _GNU_SOURCE only.
      case .noData: -5
      }
    }
  }

  static func unresolved(_ code: ResolverCode, _ host: String) -> StreamError {
    unresolved(code.rawValue, host)
  }

  /// A failed look-up. (S166)
  static func unresolved(_ code: Int32, _ host: String) -> StreamError {
    StreamError(.resolver, code: code, operation: "resolve \(host)")
  }
}

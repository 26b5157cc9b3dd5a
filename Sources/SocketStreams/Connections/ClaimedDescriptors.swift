// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which native descriptors are in use: two pairs on one descriptor would steal each other's events and bytes.

enum ClaimedDescriptors {
  /// `@unchecked Sendable`: the set is guarded by the lock.
  private final class Claims: @unchecked Sendable {
    let lock = Lock()
    var descriptors: Set<Int32> = []
  }

  private static let claims = Claims()

  /// - Returns: `false` if another pair has `fd`.
  static func claim(_ fd: Int32) -> Bool {
    claims.lock.withLock { claims.descriptors.insert(fd).inserted }
  }

  static func release(_ fd: Int32) {
    claims.lock.withLock { _ = claims.descriptors.remove(fd) }
  }
}

// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How many descriptors the process may have open. A server needs one for each connection.

import Glibc

/// The process's limit of open descriptors.
enum DescriptorLimit {
  /// Raises it as far as the system lets this process. A program may do this; a library may not.
  static func raise() {
    var limit = rlimit()
    guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(resource, &limit)
  }

  /// The header brings the number as an enum of its own, and the functions want another.
  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}

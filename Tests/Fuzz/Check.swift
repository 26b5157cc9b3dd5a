// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

/// Ends the process if `condition` does not hold; unlike `precondition` it says why in optimised code, too.
func check(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fatalError(message()) }
}

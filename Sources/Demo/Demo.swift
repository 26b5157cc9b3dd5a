// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams

@main
struct Demo {
  static func main() {}
}

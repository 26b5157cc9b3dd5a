// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The ends that Scripts/bench-tls puts together: a server that sends, and clients that read or only agree. Each client prints
// one line with its figure.
import Glibc
import SocketStreams
import SocketStreamsTLS

@main
enum TLSBenchmarks {
  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      complain("\(error)")
    }
  }

  private static func run(_ arguments: [String]) throws {
    switch arguments.first {
    case "serve" where arguments.count == 4:
      try SendingServer(
        TLSIdentity(certificateFile: arguments[1], keyFile: arguments[2]), byteCount: Int(arguments[3])!
      ).serve()
    case "download" where arguments.count == 4:
      try Download(port: UInt16(arguments[1])!, root: arguments[2], path: arguments[3]).run()
    case "handshakes" where arguments.count == 5:
      try Handshakes(
        port: UInt16(arguments[1])!, root: arguments[2], seconds: Int(arguments[3])!,
        resumes: arguments[4] == "resumed"
      ).run()
    default:
      complain(
        "serve CERTIFICATE KEY BYTES | download PORT ROOT PATH | handshakes PORT ROOT SECONDS full|resumed")
    }
  }

  static func complain(_ text: String) -> Never {
    _ = "TLSBenchmarks: \(text)\n".withCString { write(2, $0, strlen($0)) }
    exit(1)
  }
}

/// Monotonic seconds.
func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// What a client of loopback's test root asks of its peer.
func clientSettings(root: String, resumes: Bool) throws(StreamError) -> TLSSettings {
  var settings = TLSSettings.client(peerName: "localhost")
  settings.roots = .only(try TLSCertificate.certificates(inFile: root))
  settings.resumesSessions = resumes
  return settings
}

let loopback = "127.0.0.1"

// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "SocketStreams", path: "..")],
  targets: [
    .executableTarget(
      name: "EchoServer",
      dependencies: [.product(name: "SocketStreams", package: "SocketStreams")],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
    .executableTarget(
      name: "MicroBenchmarks",
      dependencies: [.product(name: "SocketStreams", package: "SocketStreams")],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
    .executableTarget(
      name: "TLSBenchmarks",
      dependencies: [
        .product(name: "SocketStreams", package: "SocketStreams"),
        .product(name: "SocketStreamsTLS", package: "SocketStreams"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
  ]
)

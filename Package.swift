// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Swift Testing's macros expand around `unsafe` expressions, so the tests leave memory safety to the compiler's default.
let testing: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
  name: "SocketStreams",
  products: [
    .library(name: "SocketStreams", targets: ["SocketStreams"]),
    .executable(name: "Demo", targets: ["Demo"]),
  ],
  targets: [
    .systemLibrary(name: "CLibEvent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .target(name: "SocketStreams", dependencies: ["CLibEvent"], swiftSettings: strict),
    .executableTarget(name: "Demo", dependencies: ["SocketStreams"], swiftSettings: strict),
    .testTarget(
      name: "SocketStreamsTests", dependencies: ["SocketStreams", "CLibEvent"], swiftSettings: testing),
    .testTarget(name: "DemoTests", dependencies: ["Demo"], exclude: ["Golden"], swiftSettings: testing),
  ]
)

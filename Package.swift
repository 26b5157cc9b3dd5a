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
    // Never dynamic: linked into a program, its functions are found before libFoundation's own; in a library, after.
    .library(name: "SocketStreamsCoreFoundation", targets: ["SocketStreamsCoreFoundation"]),
    .executable(name: "Demo", targets: ["Demo"]),
  ],
  targets: [
    .systemLibrary(name: "CLibEvent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .target(name: "SocketStreams", dependencies: ["CLibEvent"], swiftSettings: strict),
    .target(name: "CSocketStreamsCF"),
    .target(
      name: "SocketStreamsCoreFoundation", dependencies: ["CSocketStreamsCF", "SocketStreams"],
      swiftSettings: strict),
    .executableTarget(
      name: "Demo", dependencies: ["SocketStreams", "SocketStreamsCoreFoundation"], swiftSettings: strict),
    .testTarget(
      name: "SocketStreamsTests", dependencies: ["SocketStreams", "CLibEvent"], swiftSettings: testing),
    .testTarget(
      name: "SocketStreamsCoreFoundationTests",
      dependencies: ["SocketStreamsCoreFoundation", "SocketStreams"],
      swiftSettings: testing),
    .testTarget(
      name: "DemoTests", dependencies: ["Demo"], exclude: ["Golden", "Servers"], swiftSettings: testing),
  ]
)

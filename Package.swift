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

// With the trait off, nothing of OpenSSL is looked for: neither headers nor libraries.
let openSSL = Target.Dependency.target(name: "COpenSSL", condition: .when(traits: ["TLS"]))
let tls = Target.Dependency.target(name: "SocketStreamsTLS", condition: .when(traits: ["TLS"]))

let package = Package(
  name: "SocketStreams",
  products: [
    .library(name: "SocketStreams", targets: ["SocketStreams"]),
    .library(name: "SocketStreamsTLS", targets: ["SocketStreamsTLS"]),
    // Never dynamic: linked into a program, its functions are found before libFoundation's own; in a library, after.
    .library(name: "SocketStreamsCoreFoundation", targets: ["SocketStreamsCoreFoundation"]),
    .executable(name: "Demo", targets: ["Demo"]),
  ],
  traits: [
    .default(enabledTraits: ["TLS"]),
    .trait(
      name: "TLS",
      description: "Streams secured by OpenSSL 3: the module SocketStreamsTLS, and its use by the others."),
  ],
  targets: [
    .systemLibrary(name: "CLibEvent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .target(name: "SocketStreams", dependencies: ["CLibEvent"], swiftSettings: strict),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "SocketStreamsTLS", dependencies: ["SocketStreams", openSSL], swiftSettings: strict),
    .target(name: "CSocketStreamsCF"),
    .target(
      name: "SocketStreamsCoreFoundation", dependencies: ["CSocketStreamsCF", "SocketStreams", tls],
      swiftSettings: strict),
    .executableTarget(
      name: "Demo", dependencies: ["SocketStreams", "SocketStreamsCoreFoundation", tls],
      swiftSettings: strict),
    .testTarget(
      name: "SocketStreamsTests", dependencies: ["SocketStreams", "CLibEvent"], swiftSettings: testing),
    .testTarget(
      name: "SocketStreamsCoreFoundationTests",
      dependencies: ["SocketStreamsCoreFoundation", "SocketStreams", tls],
      swiftSettings: testing),
    .testTarget(
      name: "SocketStreamsTLSTests", dependencies: ["SocketStreams", tls, openSSL], exclude: ["Servers"],
      swiftSettings: testing),
    .testTarget(
      name: "DemoTests", dependencies: ["Demo"], exclude: ["Golden", "Servers"], swiftSettings: testing),
  ]
)

// swift-tools-version: 6.2
// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A library of somebody's that has the CoreFoundation module in it, to be linked into a program or to be a shared library.
import PackageDescription

let package = Package(
  name: "OwnLibrary",
  products: [
    .library(name: "Sockets", targets: ["Sockets"]),
    .library(name: "OwnLibrary", type: .dynamic, targets: ["Sockets"]),
  ],
  dependencies: [.package(name: "SocketStreams", path: "../../..")],
  targets: [
    .target(
      name: "Sockets",
      dependencies: [
        .product(name: "SocketStreams", package: "SocketStreams"),
        .product(name: "SocketStreamsCoreFoundation", package: "SocketStreams"),
      ])
  ]
)

// swift-tools-version: 6.2
// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Small programs that Scripts/check-linkage builds, runs and looks into. They use SocketStreams as any other package does:
// this one's own snippets are linked with all of its libraries.
import PackageDescription

let core = Target.Dependency.product(name: "SocketStreams", package: "SocketStreams")
let adapter = Target.Dependency.product(name: "SocketStreamsCoreFoundation", package: "SocketStreams")

let package = Package(
  name: "LinkagePrograms",
  dependencies: [
    .package(name: "SocketStreams", path: "../.."),
    .package(path: "OwnLibrary"),
  ],
  targets: [
    .executableTarget(name: "CoreProgram", dependencies: [core]),
    .executableTarget(
      name: "SocketProgram", dependencies: [.product(name: "Sockets", package: "OwnLibrary")]),
    .executableTarget(
      name: "LinkingHost", dependencies: [.product(name: "OwnLibrary", package: "OwnLibrary")]),
    .executableTarget(name: "LoadingHost"),
    .target(name: "Files"),
    .executableTarget(name: "FileProgram", dependencies: ["Files"]),
    .executableTarget(name: "FileProgramWithModule", dependencies: ["Files", adapter]),
  ]
)

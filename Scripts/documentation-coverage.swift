// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Run by Scripts/docs: which public declarations of a symbol graph have no documentation comment of their own.
// A comment inherited from a protocol of the standard library does not count; a member made by the compiler is not asked for.

import Foundation

struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Kind: Decodable { let identifier: String }
    struct Documentation: Decodable { let module: String? }
    struct Location: Decodable {
      struct Position: Decodable { let line: Int }
      let uri: String
      let position: Position
    }
    let kind: Kind
    let pathComponents: [String]
    let docComment: Documentation?
    /// Where it is declared; absent if the compiler made it.
    let location: Location?
  }
  struct Module: Decodable { let name: String }
  let module: Module
  let symbols: [Symbol]
}

guard CommandLine.arguments.count > 1 else {
  print("usage: documentation-coverage SYMBOL-GRAPH…")
  exit(64)
}

var declared = 0
var missing: [String] = []
for path in CommandLine.arguments.dropFirst() {
  let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  for symbol in graph.symbols {
    // An extension declares its members, which are symbols of their own.
    guard let location = symbol.location, symbol.kind.identifier != "swift.extension" else { continue }
    declared += 1
    if symbol.docComment?.module != graph.module.name {
      let file = URL(string: location.uri)?.path ?? location.uri
      let name = symbol.pathComponents.joined(separator: ".")
      missing.append("\(file):\(location.position.line + 1): \(name) has no documentation comment")
    }
  }
}

guard declared > 0 else {
  print("documentation-coverage: no public declaration found")
  exit(1)
}
for line in missing.sorted() { print(line) }
let percent = 100 * (declared - missing.count) / declared
print("documentation-coverage: \(declared - missing.count) of \(declared) public declarations (\(percent) %)")
exit(missing.isEmpty ? 0 : 1)

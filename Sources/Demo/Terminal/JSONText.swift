// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Just enough JSON for a summary: one object, in the order in which its members were added. Pure.

/// A value of a JSON text.
indirect enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int)
  /// A measured number, written with three decimals.
  case milli(Int64)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// A name and its value.
  struct Member: Hashable, Sendable {
    let name: String
    let value: JSONValue

    init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The value on one line.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .milli(let value): Self.decimal(value)
    case .string(let value): Self.quoted(value)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func decimal(_ thousandths: Int64) -> String {
    let fraction = String(thousandths.magnitude % 1_000)
    let zeros = String(repeating: "0", count: 3 - fraction.count)
    return "\(thousandths < 0 ? "-" : "")\(thousandths.magnitude / 1_000).\(zeros)\(fraction)"
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\0"..." ":
        if scalar == " " {
          result += " "
        } else {
          result += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
        }
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

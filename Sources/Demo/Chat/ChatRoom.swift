// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A chat server's decisions: who is told what, and who has to go. Pure: it knows members by number, and no connection.

/// What a server is to do.
enum ChatEffect: Hashable, Sendable {
  /// Send a line, without its end, to each of the members, in this order.
  case tell([ChatRoom.Member], String)
  /// Close the member's connection after what it was told. It is no member any more.
  case dismiss(ChatRoom.Member)
}

/// Those who are connected to a chat server, with or without a name.
struct ChatRoom {
  typealias Member = Int

  static let joinFirst = "error: say iam:NAME first, then msg:TEXT"
  static let lineTooLong = "error: line too long"

  /// In the order in which they came.
  private(set) var members: [Member] = []
  private var names: [Member: String] = [:]

  /// Somebody has connected, and hears what is said from now on.
  mutating func entered(_ member: Member) { members.append(member) }

  /// A whole line came from `member`. Bytes that are not UTF-8 become replacement marks.
  mutating func lineArrived(_ line: [UInt8], from member: Member) -> [ChatEffect] {
    guard members.contains(member) else { return [] }
    switch ChatMessage(line: String(decoding: line, as: UTF8.self)) {
    case .join(let name):
      names[member] = name
      return [.tell(members, ChatNotice.joined(name))]
    case .say(let text):
      guard let name = names[member] else { break }
      return [.tell(members, ChatNotice.said(text, by: name))]
    case nil: break
    }
    return [.tell([member], Self.joinFirst)]
  }

  /// A line of `member`'s is longer than any may be.
  mutating func lineWasTooLong(from member: Member) -> [ChatEffect] {
    guard members.contains(member) else { return [] }
    return [.tell([member], Self.lineTooLong), .dismiss(member)] + left(member)
  }

  /// The connection of `member` is over, or is to be cut. Those who never had a name leave without a word.
  mutating func left(_ member: Member) -> [ChatEffect] {
    guard let index = members.firstIndex(of: member) else { return [] }
    members.remove(at: index)
    guard let name = names.removeValue(forKey: member) else { return [] }
    return [.tell(members, ChatNotice.left(name))]
  }
}

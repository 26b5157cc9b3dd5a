// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A chat client's decisions: when to join, when a typed line may go out, when to leave. Pure: it knows no connection and
// no time.
//
// Servers have been seen that take what arrives in one packet for one message. So a message is sent only when the one
// before it has been answered: the name by the notice that it has joined, a text by its coming back. Who waits too long
// for an answer sends the next one all the same.

/// What a chat client is to do.
enum ChatClientEffect: Hashable, Sendable {
  /// Write these bytes, at once and alone.
  case send([UInt8])
  /// Call ``ChatConversation/answerIsOverdue()`` after a while, counted anew from now.
  case awaitAnswer
  /// Bring the next typed line, or the end of input. Not asked for again before it has come.
  case readInput
  /// Tell the user.
  case note(String)
  /// Tell a user who wants to know more.
  case warn(String)
  /// Close the connection after what was written: the user wants no more.
  case leave
  /// End without a connection: there is none, and nothing is left to be sent.
  case end
}

/// One user's part in a chat.
struct ChatConversation {
  private enum State: Hashable {
    /// Not connected.
    case offline
    /// The name was sent, and not answered.
    case joining
    /// The next text may be sent.
    case ready
    /// A text was sent, and has not come back.
    case saying(String)
    /// Nothing more is sent.
    case leaving
  }

  private let name: String
  private var state = State.offline
  /// The text that is to be sent, until the kernel has it. If a connection breaks before, the next one gets it.
  private var text: String?
  private var textIsOnItsWay = false
  private var inputHasEnded = false
  private var hasBeenConnected = false

  /// Whether the user's last word was sent, or is on its way.
  var isLeaving: Bool { state == .leaving }
  /// Whether there is a text that nobody has got.
  var hasUnsentText: Bool { text != nil }

  init(name: String) { self.name = name }

  // MARK: - The connection

  /// A connection is up.
  mutating func connected() -> [ChatClientEffect] {
    state = .joining
    hasBeenConnected = true
    return [.send(ChatMessage.join(name: name).bytes), .awaitAnswer]
  }

  /// A line came.
  mutating func lineArrived(_ line: String) -> [ChatClientEffect] {
    switch state {
    case .joining where ChatNotice.isJoining(line, of: name): return answered()
    case .saying(let text) where line.hasPrefix(name + ": "):
      return warning(about: line, insteadOf: text) + answered()
    default: return []
    }
  }

  /// The text that was sent last is with the kernel.
  mutating func textWasWritten() -> [ChatClientEffect] {
    guard textIsOnItsWay else { return [] }
    (text, textIsOnItsWay) = (nil, false)
    return readInput() + advance()
  }

  mutating func answerIsOverdue() -> [ChatClientEffect] {
    switch state {
    case .joining, .saying: answered()
    case .offline, .ready, .leaving: []
    }
  }

  /// The connection is over, and another is wanted.
  mutating func disconnected() -> [ChatClientEffect] {
    guard state != .leaving else { return [] }
    (state, textIsOnItsWay) = (.offline, false)
    return advance()
  }

  // MARK: - The user

  /// The client begins.
  mutating func started() -> [ChatClientEffect] { readInput() }

  /// A line was typed.
  mutating func typed(_ line: TypedLine) -> [ChatClientEffect] {
    switch line {
    case .tooLong(let count):
      return [.note(Self.refusal(count + ChatMessage.say("").line.utf8.count))] + readInput()
    case .text(let line):
      let line = line.withoutOuterBlanks
      if line == "/quit" { return inputEnded() }
      guard !line.isEmpty else { return readInput() }
      let message = ChatMessage.say(line)
      guard message.isWithinLimit else {
        return [.note(Self.refusal(message.line.utf8.count))] + readInput()
      }
      text = line
      return advance()
    }
  }

  /// The user wants no more, after what was typed before.
  mutating func inputEnded() -> [ChatClientEffect] {
    inputHasEnded = true
    return advance()
  }

  // MARK: - What comes next

  private func readInput() -> [ChatClientEffect] { inputHasEnded ? [] : [.readInput] }

  private mutating func answered() -> [ChatClientEffect] {
    state = .ready
    return advance()
  }

  private mutating func advance() -> [ChatClientEffect] {
    switch (state, text) {
    case (.ready, let text?) where !textIsOnItsWay:
      textIsOnItsWay = true
      state = .saying(text)
      return [.send(ChatMessage.say(text).bytes), .awaitAnswer]
    case (.ready, nil) where inputHasEnded:
      state = .leaving
      return [.leave]
    case (.offline, nil) where inputHasEnded && hasBeenConnected:
      state = .leaving
      return [.end]
    default: return []
    }
  }

  private static func refusal(_ count: Int) -> String {
    "not sent: a message of \(count) bytes with its 'msg:', and \(ChatMessage.limit) is the limit"
  }

  /// What there is to say about a text that has come back cut.
  private func warning(about line: String, insteadOf text: String) -> [ChatClientEffect] {
    guard let colon = text.firstIndex(of: ":"), line != ChatNotice.said(text, by: name) else { return [] }
    let cut = String(text[..<colon]).withoutOuterBlanks
    return line == ChatNotice.said(cut, by: name) ? [.warn("the server has cut '\(text)' at its colon")] : []
  }
}

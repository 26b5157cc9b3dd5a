// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Lending: bytes are taken into a buffer of ours, shown to the client, and what it does not use up is kept.

extension ReadHalf {
  /// Takes what is there, to be lent. Every loan is given back with ``takeBack(_:used:for:)``.
  /// - Returns: `nil` if there is nothing to lend.
  func lend(atLeast minimum: Int, for stream: ReadStream) -> Loan? {
    precondition(minimum <= StreamLimits.largestLoan, "at most 1 GiB can be lent at once")
    let minimum = max(minimum, 1)
    endpoint.lock.lock()
    guard lifecycle.status == .open, !isLending else {
      endpoint.lock.unlock()
      return nil
    }
    let lender = currentLoop
    var lent = takeLeftover() ?? spareBuffer(of: lender, minimum)
    isLending = true
    // More than last time, or the same bytes would be lent for ever to a client that cannot use so few.
    let isLast = fill(&lent, atLeast: max(minimum, lent.count + 1))
    guard lent.count >= minimum || (isLast && lent.count > 0) else {
      isLending = false
      giveUp(Loan(bytes: lent, isLast: isLast, lender: lender))
      changed(by: stream)
      return nil
    }
    endpoint.lock.unlock()
    return Loan(bytes: lent, isLast: isLast, lender: lender)
  }

  /// The most that is taken from the transport at once.
  private var inputLimit: Int { endpoint.limits?.input ?? StreamLimits.defaultInput }

  /// Takes bytes until `minimum` are in `lent`, or no more are there.
  /// - Returns: Whether the end or a failure is behind what is in `lent`.
  private func fill(_ lent: inout StreamBuffer, atLeast minimum: Int) -> Bool {
    lent.reserve(max(inputLimit, minimum) - lent.count)
    while lent.count < minimum {
      let limit = max(inputLimit, minimum) - lent.count
      switch lent.append(atMost: limit, { space in endpoint.receive(into: &space) }) {
      case .bytes(let taken):
        endpoint.bytesRead &+= UInt64(taken)
        progressed()
      case .wouldBlock: return false
      case .end: return true
      case .failed(let code):
        // The kernel tells a failure once. It is kept here, and reported behind the bytes.
        endpoint.fail(code, "read", by: self)
        return true
      }
    }
    return false
  }

  /// Nothing was lent: keeps the few bytes, or tells the end. The lock is held.
  private func giveUp(_ loan: consuming Loan) {
    let isLast = loan.isLast
    if loan.bytes.count > 0 {
      keepLeftover(loan.bytes)
      // They are there, and too few: only more of them is news.
      lifecycle.didRead(left: false)
    } else {
      loan.returnBuffer()
      if isLast { found(endpoint.transport.peek()) } else { lifecycle.didRead(left: false) }
    }
  }

  /// Ends a loan of whose bytes the first `used` were used up.
  func takeBack(_ loan: consuming Loan, used: Int, for stream: ReadStream) {
    precondition(
      used >= 0 && used <= loan.bytes.count, "a reader uses up between none and all of the bytes it was lent")
    let isLast = loan.isLast
    loan.bytes.dropFirst(used)
    let left = loan.bytes.count
    endpoint.lock.lock()
    isLending = false
    if left > 0 {
      keepLeftover(loan.bytes)
    } else if loan.isLender(installed) {
      loan.returnBuffer()
    }
    // With nothing used up only more bytes are news: none can come behind the end, nor into a full buffer.
    if used > 0 || (!isLast && left < inputLimit) { lifecycle.didRead(left: used > 0 && left > 0) }
    if left == 0, endpoint.hasFailed {
      // Behind the last byte, the failure that was found while they were lent, or before.
      look()
    }
    lookAgain()
    moved(by: stream, watching: watchWhenSeated)
  }

  private func spareBuffer(of lender: Uncounted<EventLoop>?, _ minimum: Int) -> StreamBuffer {
    var spare: StreamBuffer?
    lender?.use { spare = $0.spareBuffer.take() }
    return spare ?? StreamBuffer(capacity: max(inputLimit, minimum))
  }

  /// The half's loop, on its thread. It is not counted, as whoever runs it holds it.
  private var currentLoop: Uncounted<EventLoop>? {
    guard let loop = installed.map({ Uncounted($0) }), loop.use({ $0.isCurrent }) else { return nil }
    return loop
  }
}

/// Bytes on loan.
@usableFromInline
struct Loan: ~Copyable {
  @usableFromInline var bytes: StreamBuffer
  /// The end or a failure is behind the bytes.
  let isLast: Bool
  /// The loop on whose thread this is: lending its buffer allocates nothing.
  let lender: Uncounted<EventLoop>?

  /// Whether `loop`, which is there, is the lender. A host may have ended the lender's use of its base meanwhile.
  func isLender(_ loop: EventLoop?) -> Bool {
    guard let lender, let loop else { return false }
    return lender.refers(to: loop)
  }

  /// Gives the lender, which must be there still, a buffer for its next loan.
  consuming func returnBuffer() {
    guard let lender, bytes.capacity <= 4 * StreamLimits.defaultInput else { return }
    var spare: StreamBuffer? = bytes
    lender.use { loop in
      if loop.spareBuffer == nil { loop.spareBuffer = spare.take() }
    }
  }
}

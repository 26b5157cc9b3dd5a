// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Lending: bytes are taken into a buffer of ours, shown to the client, and what it does not use up is kept.

extension ReadHalf {
  /// Lends what is there to `body`, which answers how many bytes it used up.
  func lend<E: Error>(
    atLeast minimum: Int, for stream: ReadStream, _ body: (RawSpan) throws(E) -> Int
  ) throws(E) -> Int {
    precondition(minimum <= Endpoint.largestLoan, "at most 1 GiB can be lent at once")
    let minimum = max(minimum, 1)
    endpoint.lock.lock()
    guard lifecycle.status == .open, !isLending else {
      endpoint.lock.unlock()
      return 0
    }
    var lent = takeLeftover() ?? spareBuffer(minimum)
    isLending = true
    // More than last time, or the same bytes would be lent for ever to a client that cannot use so few.
    let isLast = fill(&lent, atLeast: max(minimum, lent.count + 1))
    guard lent.count >= minimum || (isLast && lent.count > 0) else {
      isLending = false
      giveUp(lent, isLast: isLast)
      changed(by: stream)
      return 0
    }
    endpoint.lock.unlock()
    let used: Int
    do throws(E) {
      used = try lent.withBytes(body)
    } catch {
      takeBack(lent, used: 0, isLast: isLast, for: stream)
      throw error
    }
    precondition(
      used >= 0 && used <= lent.count, "a reader uses up between none and all of the bytes it was lent")
    takeBack(lent, used: used, isLast: isLast, for: stream)
    return used
  }

  /// Takes bytes until `minimum` are in `lent`, or no more are there.
  /// - Returns: Whether the end or a failure is behind what is in `lent`.
  private func fill(_ lent: inout StreamBuffer, atLeast minimum: Int) -> Bool {
    lent.reserve(max(endpoint.inputLimit, minimum) - lent.count)
    while lent.count < minimum {
      let limit = max(endpoint.inputLimit, minimum) - lent.count
      switch lent.append(atMost: limit, { space in endpoint.transport.receive(into: &space) }) {
      case .bytes(let taken): progressed(taken)
      case .wouldBlock: return false
      case .end: return true
      case .failed(let code):
        // The kernel tells a failure once. It is kept here, and reported behind the bytes.
        endpoint.fail(.posix(code, "read"), by: self)
        return true
      }
    }
    return false
  }

  /// Nothing was lent: keeps the few bytes, or tells the end. The lock is held.
  private func giveUp(_ lent: consuming StreamBuffer, isLast: Bool) {
    if lent.count > 0 {
      keepLeftover(lent)
      // They are there, and too few: only more of them is news.
      lifecycle.didRead(left: false)
    } else {
      returnSpare(lent)
      if isLast { found(endpoint.transport.peek()) } else { lifecycle.didRead(left: false) }
    }
  }

  private func takeBack(_ lent: consuming StreamBuffer, used: Int, isLast: Bool, for stream: ReadStream) {
    lent.dropFirst(used)
    let left = lent.count
    endpoint.lock.lock()
    isLending = false
    if left > 0 { keepLeftover(lent) } else { returnSpare(lent) }
    // With nothing used up only more bytes are news: none can come behind the end, nor into a full buffer.
    if used > 0 || (!isLast && left < endpoint.inputLimit) { lifecycle.didRead(left: used > 0 && left > 0) }
    if left == 0, endpoint.failure != nil {
      // Behind the last byte, the failure that was found while they were lent, or before.
      look()
    }
    lookAgain()
    changed(by: stream)
  }

  /// A buffer to lend from: the loop's own on its thread, so that lending allocates nothing there.
  private func spareBuffer(_ minimum: Int) -> StreamBuffer {
    if let loop = installed, loop.isCurrent, let spare = loop.spareBuffer.take() { return spare }
    return StreamBuffer(capacity: max(endpoint.inputLimit, minimum))
  }

  private func returnSpare(_ buffer: consuming StreamBuffer) {
    guard buffer.capacity <= 4 * Endpoint.defaultInputLimit, let loop = installed, loop.isCurrent,
      loop.spareBuffer == nil
    else { return }
    loop.spareBuffer = consume buffer
  }
}

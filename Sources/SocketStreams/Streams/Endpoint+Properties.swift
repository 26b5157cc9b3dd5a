// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the property keys mean: reading, setting, and what they do to a connection that exists.

extension Endpoint {
  // MARK: - Reading

  func property(_ name: StreamPropertyName) -> (any Sendable)? {
    lock.withLock {
      switch name {
      case .nativeHandle: transport.descriptor
      case .shouldCloseNativeSocket: sides.ownsDescriptor
      case .remoteHostName: plan?.host
      case .remotePortNumber: plan?.port ?? remoteAddress?.port
      case .remoteAddress: remoteAddress
      case .localAddress: transport.descriptor.flatMap { try? SystemCalls.localAddress($0) }
      case .connectTimeout: plan?.options.connectTimeout
      case .connectAttempts: plan?.attempts
      case .readTimeout: limits?.reading.duration
      case .writeTimeout: limits?.writing.duration
      case .idleTimeout: limits?.idle.duration
      case .lingerTimeout: Duration.nanoseconds(Int64(clamping: limits?.linger ?? StreamLimits.defaultLinger))
      case .inputLimit: limits?.input ?? StreamLimits.defaultInput
      case .outputLimit: transport.limits.outputLimit
      case .outputHardLimit: transport.limits.outputHardLimit
      case .bytesRead: bytesRead
      case .bytesWritten: bytesWritten
      case .queuedByteCount: transport.queuedCount
      case .noDelay: option(SocketOption.noDelay).map { $0 != 0 } ?? plan?.options.noDelay
      case .keepAlive: keepAlive
      case .sendBufferSize: option(SocketOption.sendBuffer) ?? plan?.options.sendBufferSize
      case .receiveBufferSize: option(SocketOption.receiveBuffer) ?? plan?.options.receiveBufferSize
      case .securitySettings: secured?.settings
      case .securityPeer: secured?.peer
      }
    }
  }

  /// Where the connection goes, for people; `nil` in memory.
  var peerDescription: String? {
    switch plan?.target {
    case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .address(let address): address.description
    case nil: remoteAddress?.description
    }
  }

  /// The peer's address, asked of the socket.
  var remoteAddress: SocketAddress? { transport.descriptor.flatMap { try? SystemCalls.peerAddress($0) } }

  private var keepAlive: ConnectionOptions.KeepAlive? {
    if let fd = transport.descriptor { ConnectionOptions.keepAlive(of: fd) } else { plan?.options.keepAlive }
  }

  private func option(_ option: SocketOption) -> Int32? {
    transport.descriptor.flatMap { SystemCalls.option($0, level: option.level, name: option.name) }
  }

  // MARK: - Setting

  /// - Returns: Whether the property took the value.
  func setProperty(_ name: StreamPropertyName, to value: (any Sendable)?) -> Bool {
    if name == .securitySettings { return setSecurity(value) }
    lock.lock()
    let isTaken = take(name, value)
    // A limit that was set has to be watched from now on, on the half's own loop.
    for half in [reader, writer] as [StreamHalf?] {
      half?.limitChanged()
      half?.transportSignalled()
    }
    lock.unlock()
    return isTaken
  }

  private func take(_ name: StreamPropertyName, _ value: (any Sendable)?) -> Bool {
    switch name {
    case .shouldCloseNativeSocket:
      guard transport.hasSocket else { return false }
      sides.ownsDescriptor = value as? Bool ?? closesByDefault
    case .connectTimeout:
      guard let plan, isIdle, isPositive(value) else { return false }
      plan.options.connectTimeout = value as? Duration
    case .readTimeout:
      guard isPositive(value) else { return false }
      changeLimits { limit(&$0.reading, value) }
    case .writeTimeout:
      guard isPositive(value) else { return false }
      changeLimits { limit(&$0.writing, value) }
    case .idleTimeout:
      guard isPositive(value) else { return false }
      changeLimits { limits in
        limits.idle.waiting(true, now: SystemCalls.monotonicNow())
        limit(&limits.idle, value)
      }
    case .lingerTimeout:
      guard isPositive(value) else { return false }
      changeLimits { $0.linger = (value as? Duration)?.clampedNanoseconds ?? StreamLimits.defaultLinger }
    case .inputLimit:
      let size = value as? Int ?? StreamLimits.defaultInput
      guard (1...StreamLimits.largestLoan).contains(size) else { return false }
      changeLimits { $0.input = size }
    case .outputLimit:
      let size = value as? Int ?? transport.limits.defaultOutputLimit
      guard size >= 0 else { return false }
      var limits = transport.limits
      limits.outputLimit = size
      transport.setLimits(limits)
    case .outputHardLimit:
      if let size = value as? Int, size < 0 { return false }
      var limits = transport.limits
      limits.outputHardLimit = value as? Int
      transport.setLimits(limits)
    case .noDelay:
      let isOn = value as? Bool ?? true
      return set(SocketOption.noDelay, isOn ? 1 : 0) { $0.noDelay = isOn }
    case .keepAlive: return setKeepAlive(value as? ConnectionOptions.KeepAlive)
    case .sendBufferSize:
      guard let size = value as? Int32, size > 0 else { return false }
      return set(SocketOption.sendBuffer, size) { $0.sendBufferSize = size }
    case .receiveBufferSize:
      guard let size = value as? Int32, size > 0 else { return false }
      return set(SocketOption.receiveBuffer, size) { $0.receiveBufferSize = size }
    case .nativeHandle, .remoteHostName, .remotePortNumber, .remoteAddress, .localAddress, .connectAttempts,
      .bytesRead, .bytesWritten, .queuedByteCount, .securitySettings, .securityPeer:
      return false
    }
    return true
  }

  private func isPositive(_ value: (any Sendable)?) -> Bool {
    (value as? Duration).map { $0 > .zero } ?? true
  }

  private func limit(_ deadline: inout ProgressDeadline, _ value: (any Sendable)?) {
    deadline.limitChanged((value as? Duration)?.clampedNanoseconds, now: SystemCalls.monotonicNow())
  }

  /// Sets an option of the socket that exists, or notes it for the one to come.
  private func set(_ option: SocketOption, _ value: Int32, note: (inout ConnectionOptions) -> Void) -> Bool {
    if let fd = transport.descriptor {
      return SystemCalls.setOption(fd, level: option.level, name: option.name, value: value) == 0
    }
    guard let plan, isIdle else { return false }
    note(&plan.options)
    return true
  }

  private func setKeepAlive(_ keepAlive: ConnectionOptions.KeepAlive?) -> Bool {
    if let fd = transport.descriptor {
      guard ConnectionOptions.apply(keepAlive, to: fd) == 0 else { return false }
    } else if plan == nil || !isIdle {
      return false
    }
    plan?.options.keepAlive = keepAlive
    return true
  }

  // MARK: - Options by number

  func socketOption(level: Int32, name: Int32) throws(StreamError) -> Int32 {
    try lock.withLock { () throws(StreamError) -> Int32 in
      guard let fd = transport.descriptor else { throw .misuse(.unsupported, "getsockopt") }
      guard let value = SystemCalls.option(fd, level: level, name: name) else {
        throw .posix(SystemCalls.lastError, "getsockopt")
      }
      return value
    }
  }

  func setSocketOption(level: Int32, name: Int32, to value: Int32) throws(StreamError) {
    try lock.withLock { () throws(StreamError) in
      guard let fd = transport.descriptor else { throw .misuse(.unsupported, "setsockopt") }
      let code = SystemCalls.setOption(fd, level: level, name: name, value: value)
      if code != 0 { throw .posix(code, "setsockopt") }
    }
  }
}

extension ProgressDeadline {
  /// The limit as a duration; `nil` for none.
  var duration: Duration? { isSet ? .nanoseconds(Int64(clamping: limit)) : nil }
}

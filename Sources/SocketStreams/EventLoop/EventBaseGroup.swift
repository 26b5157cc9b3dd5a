// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Several loops for one service. A group only makes them, hands them out and ends them; it knows nothing of listeners.
internal import Synchronization

/// A fixed number of bases, each with a thread of its own, among which a service spreads its connections.
///
/// A connection stays on the base that it was given: streams on one base never run beside each other, those on different
/// bases do. Either one listener hands each pair on, with `pair.schedule(on: group.next())` in its `accept`; or each base
/// of ``bases`` has a listener of its own on one shared port, see ``Listener/init(address:backlog:reusesPort:acceptsIPv4:limits:)``.
///
/// Every method may be called on any thread unless it says otherwise. The group keeps its bases, as streams that are
/// scheduled on them do: dropping it ends those that nobody else uses, without waiting for them.
public final class EventBaseGroup: Sendable, CustomStringConvertible {
  /// The bases, in the order in which ``next()`` goes through them; never empty, and always the same ones.
  public let bases: [EventBase]

  private let calls = Atomic<UInt>(0)
  private let name: String

  /// Makes `count` bases as ``EventBase/startThread(named:)`` does.
  /// - Parameters:
  ///   - count: How many, 1 or more.
  ///   - name: What debuggers and `top` show for the threads, followed by `-1`, `-2`, …; the system takes the first 15
  ///     bytes of that.
  /// - Throws: The domain `.posix` if the process has no descriptors, memory or threads left. The bases that had been
  ///   made are gone by then.
  public init(
    count: Int = EventBaseGroup.processorCount, name: String = "streams"
  ) throws(StreamError) {
    precondition(count >= 1, "make a group of event bases: its count is less than 1")
    var made: [EventBase] = []
    do throws(StreamError) {
      for number in 1...count { made.append(try EventBase.startThread(named: "\(name)-\(number)")) }
    } catch {
      for base in made { base.stop() }
      for base in made { base.join() }
      throw error
    }
    bases = made
    self.name = name
  }

  /// How many processors the calling thread may run on, 1 or more: those that are online, less those that its affinity
  /// excludes. A limit on processor time, such as a container's, is not looked at.
  public static var processorCount: Int { max(1, LinuxCalls.processorCount) }

  /// The base whose turn it is: the first of ``bases``, then the second, and after the last the first again. Calls
  /// from several threads share one sequence. Never waits.
  ///
  /// Neither how busy a base is matters nor whether it has ended.
  public func next() -> EventBase {
    let number = calls.wrappingAdd(1, ordering: .relaxed).oldValue
    return bases[Int(number % UInt(bases.count))]
  }

  /// Ends the threads of all bases soon, each after the closures that were queued before; see ``EventBase/stop()``.
  public func stop() {
    for base in bases { base.stop() }
  }

  /// Waits until the threads of all bases are gone; somebody has to call ``stop()``. Any number of threads may wait,
  /// but none of the group's own.
  public func join() {
    for base in bases { base.join() }
  }

  /// The name of the threads, and how many there are.
  public var description: String { "EventBaseGroup(\(name), \(bases.count))" }
}

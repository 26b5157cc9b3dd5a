// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a benchmark is, and all that there are.

/// A question about the cost of one operation: what is set up once, and a body that does the operation.
protocol Benchmark: AnyObject, SendableMetatype {
  /// As on the command line and in `Thresholds/`.
  static var name: String { get }
  /// What one operation is, in a few words.
  static var operation: String { get }
  /// Sets up what all the operations use.
  init() throws
  /// Does the operation `count` times, 1 or more. May be called again; always on the main thread.
  func run(_ count: Int) throws
}

/// Every benchmark, in the order of the table.
let benchmarks: [any Benchmark.Type] = [
  EventToClosure.self,
  EventToCallback.self,
  EventOfRoom.self,
  SetClientClosure.self,
  SetClientContext.self,
  RemoveClient.self,
  ScheduleAndUnschedule.self,
  MoveToAnotherBase.self,
  ExecuteOnOwnThread.self,
  ExecuteFromAnotherThread.self,
  SyncFromAnotherThread.self,
  TimerFires.self,
  TimerCancelled.self,
  WriteAndReadOneByte.self,
  WriteAndRead64Bytes.self,
  ReadIntoOwnBuffer.self,
  ReadBlocking.self,
  LineFraming.self,
  FramedLines.self,
  PollStatus.self,
  PollBytesAvailable.self,
  PollRoom.self,
  OpenAndClose.self,
  ConnectAndAccept.self,
]

// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The clients of an echo as a Swift program would write them: closures, which retain it.

import SocketStreams

extension Echo {
  func setInputClosure() {
    // All that happens to an echo happens on its loop's thread.
    nonisolated(unsafe) let echo = self
    input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { _, event in
      if event == .hasBytesAvailable { return echo.bytesArrived() }
      echo.inputEnded(byFailure: event == .errorOccurred)
    }
  }

  func setOutputClosure() {
    nonisolated(unsafe) let echo = self
    output.setClient(.canAcceptBytes) { _, _ in echo.roomAppeared() }
  }
}

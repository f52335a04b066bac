// A recording from the microphone, which becomes a file of the next message.

const MOST_MS = 900_000;
const BITS = 32_000; // a second: speech, and 15 minutes fit the least limit for files

export class Recorder {
  /** `handlers`: recorded(file), complain(text). */
  constructor({ record }, words, handlers) {
    this.button = record;
    this.words = words;
    this.handlers = handlers;
    record.hidden = !(navigator.mediaDevices?.getUserMedia && globalThis.MediaRecorder); // on https and localhost only
    record.addEventListener("click", () => (this.recording ? this.recording.stop() : this.begin()));
  }

  async begin() {
    this.button.disabled = true;
    this.handlers.complain("");
    try {
      this.record(await navigator.mediaDevices.getUserMedia({ audio: true }));
    } catch {
      this.handlers.complain(this.words.say("no_microphone"));
    }
    this.button.disabled = false;
  }

  record(stream) {
    const recording = new MediaRecorder(stream, { audioBitsPerSecond: BITS });
    const parts = [];
    const limit = setTimeout(() => recording.stop(), MOST_MS);
    recording.addEventListener("dataavailable", ({ data }) => parts.push(data));
    recording.addEventListener("stop", () => {
      clearTimeout(limit);
      for (const track of stream.getTracks()) track.stop();
      this.recording = null;
      this.show();
      const [type] = recording.mimeType.split(";");
      const extension = type === "audio/mp4" ? "m4a" : type.split("/")[1];
      this.handlers.recorded(new File(parts, `${this.words.say("recording")}.${extension}`, { type }));
    });
    recording.start();
    this.recording = recording;
    this.show();
  }

  show() {
    const { button } = this;
    button.ariaPressed = String(Boolean(this.recording));
    button.ariaLabel = button.title = this.words.say(this.recording ? "record_stop" : "record");
  }
}

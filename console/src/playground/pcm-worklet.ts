/** Runs in the audio thread: passes the samples of the microphone on as 16-bit numbers. */
interface Processor {
	readonly port: MessagePort;
}
declare const AudioWorkletProcessor: new () => Processor;
declare function registerProcessor(name: string, processor: new () => Processor): void;

/** Tenths of a second at 16 kHz: few frames, and little delay. */
const FRAME_SAMPLES = 1_600;

registerProcessor(
	"pcm",
	class extends AudioWorkletProcessor {
		#frame = new Int16Array(FRAME_SAMPLES);
		#filled = 0;

		process([channels]: Float32Array[][]): boolean {
			for (const sample of channels?.[0] ?? []) {
				this.#frame[this.#filled++] = Math.max(-1, Math.min(1, sample)) * 0x7fff;
				if (this.#filled < FRAME_SAMPLES) continue;
				this.port.postMessage(this.#frame.buffer, [this.#frame.buffer]);
				this.#frame = new Int16Array(FRAME_SAMPLES);
				this.#filled = 0;
			}
			return true;
		}
	},
);

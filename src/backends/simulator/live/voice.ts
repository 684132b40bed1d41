/** Where someone speaks, by loudness alone. Counts in windows of sound, 20 ms each. */

/** Of full scale, -40 dB: above a quiet room, below speech at arm's length. */
const LOUD_FROM = 0.01;
/** 60 ms: a click is not speech. */
const STARTS_AFTER = 3;
/** 100 ms: there are shorter gaps inside words. */
const STOPS_AFTER = 5;

export class Voice {
	/** Windows heard. */
	now = 0;
	speaking = false;
	/** Whether the last window made it plain that speech has started. */
	started = false;
	/** Where the stretch of speech that lasts, or the last one, begins and ends. */
	from = 0;
	to = 0;
	/** Windows of speech since the beginning, short gaps included. */
	spoken = 0;
	#loud = 0;

	hear(loudness: number): void {
		this.now++;
		const loud = loudness >= LOUD_FROM;
		this.#loud = loud ? this.#loud + 1 : 0;
		this.started = !this.speaking && this.#loud >= STARTS_AFTER;
		if (this.started) {
			this.speaking = true;
			this.from = this.now - STARTS_AFTER;
			this.to = this.now;
			this.spoken += STARTS_AFTER;
		} else if (this.speaking && loud) {
			this.spoken += this.now - this.to;
			this.to = this.now;
		} else if (this.now - this.to >= STOPS_AFTER) this.speaking = false;
	}
}

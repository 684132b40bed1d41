/** Detects speech by loudness. Positions are counted in windows of 20 ms. */

/** The share of full scale, -40 dB: above a quiet room, below speech at arm's length. */
const LOUD_FROM = 0.01;
/** 60 ms: a click is not speech. */
const STARTS_AFTER = 3;
/** 100 ms: there are shorter gaps inside words. */
const STOPS_AFTER = 5;

export class Voice {
	/** The number of windows so far. */
	now = 0;
	speaking = false;
	/** Whether the last window completed the minimum duration of speech. */
	started = false;
	/** The start and end of the current or last period of speech. */
	from = 0;
	to = 0;
	/** Windows of speech since the beginning, short gaps included. */
	spoken = 0;
	#loud = 0;

	process(loudness: number): void {
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

/**
 * Consistent hashing: a key belongs to the next point on a ring, and each member has several points. A member that joins or
 * leaves moves only its own share of the keys. All isolates that know the same members have the same ring.
 */
import { hashText } from "./block-hashes.ts";

interface Point<Member> {
	at: number;
	member: Member;
}

/** Shares of members differ by about 1/√64 of their mean. */
const POINTS = 64;

export class HashRing<Member> {
	#points: Point<Member>[] = [];
	/** The points are in order. */
	#sorted = true;

	/** @param name unique, and the same in every isolate. */
	add(name: string, member: Member): void {
		for (let i = 0; i < POINTS; i++) this.#points.push({ at: hashText(`${name} ${i}`), member });
		// Many members are added at once: they are sorted once.
		this.#sorted = false;
	}

	delete(member: Member): void {
		this.#points = this.#points.filter((point) => point.member !== member);
	}

	/** The members in the order of the ring, from the key on. A member may be repeated. */
	*from(key: string): Iterable<Member> {
		const points = this.#points;
		if (!this.#sorted) points.sort((a, b) => a.at - b.at);
		this.#sorted = true;
		const start = this.#after(hashText(key));
		for (let i = 0; i < points.length; i++) {
			const point = points[(start + i) % points.length];
			if (point) yield point.member;
		}
	}

	/** Index of the first point at or after a position. */
	#after(position: number): number {
		let from = 0;
		let to = this.#points.length;
		while (from < to) {
			const middle = (from + to) >> 1;
			if ((this.#points[middle]?.at ?? 0) < position) from = middle + 1;
			else to = middle;
		}
		return from;
	}
}

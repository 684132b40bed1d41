/** A set with a maximum size: at the maximum, a new member takes the place of the oldest one. */
export class BoundedSet<Member> extends Set<Member> {
	readonly #max: number;

	constructor(max: number) {
		super();
		this.#max = max;
	}

	override add(member: Member): this {
		if (this.has(member)) return this;
		for (const oldest of this) {
			if (this.size < this.#max) break;
			this.delete(oldest);
		}
		return super.add(member);
	}
}

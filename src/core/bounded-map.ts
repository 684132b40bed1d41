/**
 * A cache with a maximum size: at the maximum all entries are dropped. Keys may be chosen by callers, so a map without a bound could
 * exhaust the memory.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
	readonly #max: number;

	constructor(max: number) {
		super();
		this.#max = max;
	}

	override set(key: Key, value: Value): this {
		if (this.size >= this.#max && !this.has(key)) this.clear();
		return super.set(key, value);
	}

	/** The value of the key; without one, the value that `create` returns, which is kept. */
	getOrSet(key: Key, create: () => Value): Value {
		const existing = this.get(key);
		if (existing !== undefined) return existing;
		const value = create();
		this.set(key, value);
		return value;
	}
}

/** A binary min-heap whose items can change their keys. All changes take O(log n). Equal keys are ordered by a second key. */
interface Node<Item> {
	item: Item;
	key: number;
	tie: number;
}

export class MinHeap<Item> {
	readonly #nodes: Node<Item>[] = [];
	readonly #positions = new Map<Item, number>();

	get size(): number {
		return this.#nodes.length;
	}

	get top(): Item | undefined {
		return this.#nodes[0]?.item;
	}

	/** The smallest key. */
	get topKey(): number | undefined {
		return this.#nodes[0]?.key;
	}

	/** Adds an item, or changes its keys. */
	set(item: Item, key: number, tie = 0): void {
		const position = this.#positions.get(item);
		const node = position === undefined ? undefined : this.#nodes[position];
		if (position === undefined || !node) {
			this.#nodes.push({ item, key, tie });
			this.#moveUp(this.#nodes.length - 1);
			return;
		}
		node.key = key;
		node.tie = tie;
		this.#moveDown(this.#moveUp(position));
	}

	delete(item: Item): boolean {
		const position = this.#positions.get(item);
		const last = this.#nodes.pop();
		if (position === undefined || !last) {
			if (last) this.#nodes.push(last);
			return false;
		}
		this.#positions.delete(item);
		if (last.item === item) return true;
		this.#nodes[position] = last;
		this.#positions.set(last.item, position);
		this.#moveDown(this.#moveUp(position));
		return true;
	}

	/**
	 * The first item in the order of the keys that fulfils the condition. Takes O(log n) if that is one of the first, and
	 * O(k log k) if it is the k-th.
	 */
	first(condition: (item: Item) => boolean): Item | undefined {
		const top = this.#nodes[0];
		if (!top || condition(top.item)) return top?.item;
		// A best-first search: the next candidate is a child of a node that was visited before.
		const frontier = new MinHeap<number>();
		const visitChildren = (position: number) => {
			for (const child of [2 * position + 1, 2 * position + 2]) {
				const node = this.#nodes[child];
				if (node) frontier.set(child, node.key, node.tie);
			}
		};
		visitChildren(0);
		for (let position = frontier.top; position !== undefined; position = frontier.top) {
			frontier.delete(position);
			const node = this.#nodes[position];
			if (node && condition(node.item)) return node.item;
			visitChildren(position);
		}
		return undefined;
	}

	#moveUp(start: number): number {
		let position = start;
		const node = this.#nodes[position];
		if (!node) return position;
		while (position > 0) {
			const parent = (position - 1) >> 1;
			const above = this.#nodes[parent];
			if (!above || !isBefore(node, above)) break;
			this.#nodes[position] = above;
			this.#positions.set(above.item, position);
			position = parent;
		}
		this.#nodes[position] = node;
		this.#positions.set(node.item, position);
		return position;
	}

	#moveDown(start: number): void {
		let position = start;
		const node = this.#nodes[position];
		if (!node) return;
		for (;;) {
			const left = this.#nodes[2 * position + 1];
			const right = this.#nodes[2 * position + 2];
			const isRight = left !== undefined && right !== undefined && isBefore(right, left);
			const below = isRight ? right : left;
			if (!below || !isBefore(below, node)) break;
			this.#nodes[position] = below;
			this.#positions.set(below.item, position);
			position = 2 * position + (isRight ? 2 : 1);
		}
		this.#nodes[position] = node;
		this.#positions.set(node.item, position);
	}
}

const isBefore = (a: Node<unknown>, b: Node<unknown>): boolean =>
	a.key < b.key || (a.key === b.key && a.tie < b.tie);

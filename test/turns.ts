const MAX_TURNS = 1_000_000;

/** How many turns of the microtask queue pass until `work` is settled. */
export async function turnsUntil(work: Promise<unknown>): Promise<number> {
	let settled = false;
	const settle = () => {
		settled = true;
	};
	work.then(settle, settle);
	let turns = 0;
	while (!settled && turns < MAX_TURNS) {
		await null;
		turns++;
	}
	return turns;
}

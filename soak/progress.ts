/** How far a run is: a bar on a terminal, elsewhere a line now and then. */
const BAR_WIDTH = 30;
const LINES = 10;

export function progressTo(out: NodeJS.WriteStream): (done: number, of: number, what: string) => void {
	let told = "";
	return (done, of, what) => {
		const share = of === 0 ? 1 : done / of;
		if (out.isTTY) {
			const full = Math.round(share * BAR_WIDTH);
			const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
			out.write(`\r\x1b[2K${bar} ${done}/${of} ${what}`);
			return;
		}
		const line = `${Math.floor(share * LINES)} ${done === of ? what : ""}`;
		if (line !== told) out.write(`${done}/${of} ${what}\n`);
		told = line;
	};
}

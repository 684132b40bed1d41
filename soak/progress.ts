/** How far a run is: a bar on a terminal, elsewhere a line now and then. */
const BAR_WIDTH = 30;
const LINES = 10;

export function progressTo(out: NodeJS.WriteStream): (done: number, of: number, what: string) => void {
	let told = -1;
	return (done, of, what) => {
		const share = of === 0 ? 1 : done / of;
		if (out.isTTY) {
			const full = Math.round(share * BAR_WIDTH);
			const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
			out.write(`\r\x1b[2K${bar} ${done}/${of} ${what}`);
			if (what === "auditing") out.write("\r\x1b[2K");
			return;
		}
		const step = Math.floor(share * LINES);
		if (step === told && what === "asking") return;
		if (what === "asking" || step !== told || done === of) out.write(`${done}/${of} ${what}\n`);
		told = step;
	};
}

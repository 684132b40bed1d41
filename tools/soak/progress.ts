/** Progress of a run: a bar on a terminal, otherwise about ten lines per run. */
const BAR_WIDTH = 30;
const LINES = 10;

export function progressTo(out: NodeJS.WriteStream): (done: number, total: number, label: string) => void {
	let written = "";
	return (done, total, label) => {
		const share = total === 0 ? 1 : done / total;
		if (out.isTTY) {
			const full = Math.round(share * BAR_WIDTH);
			const bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
			out.write(`\r\x1b[2K${bar} ${done}/${total} ${label}`);
			return;
		}
		const line = `${Math.floor(share * LINES)} ${done === total ? label : ""}`;
		if (line !== written) out.write(`${done}/${total} ${label}\n`);
		written = line;
	};
}

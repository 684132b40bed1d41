/**
 * Loaded into the server of ONNX models by `batch.ts`: how much CPU its main thread uses between two rounds of its event loop. Unlike a delay,
 * this does not depend on the machine's other work. SIGUSR2 starts the measurement, and a second one writes the longest round, in
 * milliseconds, to the file that `GANGLION_ROUNDS` names. Needs Node 24.
 */
import { writeFileSync } from "node:fs";

const { GANGLION_ROUNDS: file } = process.env;
// Processes of models are not measured.
delete process.env.GANGLION_ROUNDS;

const used = (): number => {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1_000;
};

if (file !== undefined) {
	let timer: NodeJS.Timeout | undefined;
	let before = 0;
	let longest = 0;
	const round = (): void => {
		const now = used();
		longest = Math.max(longest, now - before);
		before = now;
		timer = setTimeout(round, 1);
	};
	process.on("SIGUSR2", () => {
		if (timer) {
			clearTimeout(timer);
			timer = undefined;
			writeFileSync(file, String(longest));
		} else {
			longest = 0;
			before = used();
			round();
		}
	});
}

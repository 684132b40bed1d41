/** The order of the test files, also in a fresh clone, where Vitest has no durations of an earlier run. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** These take 12 seconds to a minute each, and mostly wait. At the end of a run, one of them would keep a single core busy. */
export const LONG_FILES = [
	"serve",
	"plugin",
	"storage",
	"dev",
	"faults",
	"local-engine/onnx-engine",
	"conservation-leased",
	"vectors/move-kill",
	"local-engine/engine",
	"vectors/pgvector",
	"gateway-conservation",
	"conservation",
	"cli/client",
	"cli/installed",
	"stream-modes",
	"file-limit",
	"leaving-sockets",
	"modules",
	"stored-responses",
	"stops",
	"crowd",
	"leave-matrix",
	"deletion",
	"rules-everywhere",
	"pass-through",
	"pools",
	"doctor",
	"vectors/pgvector-tls",
	"outbound",
].map((name) => `test/node/${name}.test.ts`);
const IN_WORKERD = ["worker", "extending", "binding"];

/**
 * The two longest process tests come first. The tests inside workerd follow, and use the cores while those wait. At the end are the short
 * process tests. Files of one project stay together: a shared Worker ends when the next file is of another project.
 */
export function rankOf(project: string, file: string): number {
	if (IN_WORKERD.includes(project)) return 2;
	const place = LONG_FILES.findIndex((longFile) => file.endsWith(`/${longFile}`));
	if (place >= 0) return place < 2 ? 1 : 3;
	return project === "console" ? 4 : 5;
}

export class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const ranked = (await super.sort(files)).map((file) => ({
			file,
			group: file.project.config.sequence.groupOrder,
			rank: rankOf(file.project.name, file.moduleId),
		}));
		return ranked.sort((a, b) => a.group - b.group || a.rank - b.rank).map(({ file }) => file);
	}
}

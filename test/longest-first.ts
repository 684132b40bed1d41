/** The order of the test files, also in a fresh clone, where Vitest has no durations of an earlier run. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** These take 12 to 100 seconds each, and mostly wait. At the end of a run, one of them would keep a single core busy. */
export const LONG_FILES = [
	"node/plugin",
	"node/serve",
	"node/dev",
	"node/storage",
	"node/local-engine/onnx-engine",
	"node/vectors/move-kill",
	"node/hostile-documents",
	"node/faults",
	"node/local-engine/engine",
	"node/leaving-sockets",
	"clients/vectorize",
	"clients/wrangler",
	"node/cli/installed",
	"node/conservation-leased",
	"node/conservation",
	"clients/ai-search",
	"node/deletion",
	"node/gateway-conservation",
	"node/modules",
	"node/stream-modes",
	"node/stored-responses",
	"node/file-limit",
	"node/vectors/pgvector",
	"node/rules-everywhere",
	"node/outbound",
	"node/stops",
	"clients/generated-client",
	"node/vectors/pgvector-tls",
	"node/crowd",
	"node/leave-matrix",
	"node/pass-through",
	"node/pools",
	"node/doctor",
].map((name) => `test/${name}.test.ts`);
const FIRST_FILES = 3;
const IN_WORKERD = ["worker", "extending", "binding"];

/**
 * The three longest process tests come first. The tests inside workerd follow, and use the cores while those wait. At the end are the short
 * process tests. Files of one project stay together: a shared Worker ends when the next file is of another project.
 */
export function rankOf(project: string, file: string): number {
	if (IN_WORKERD.includes(project)) return 2;
	const place = LONG_FILES.findIndex((longFile) => file.endsWith(`/${longFile}`));
	if (place >= 0) return place < FIRST_FILES ? 1 : 3;
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

/**
 * `npm run eval:search`: how well searches find the pages that answer questions, as a table in Markdown. Without `--url` it starts a gateway on
 * the simulator. With a gateway that has a route for the embedding model, it measures that model.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOptions } from "../../scripts/options.ts";
import { type CorpusQuestion, corpusPages, corpusQuestions, QUESTION_KINDS } from "./corpus.ts";
import { type GatewayAddress, SearchInstanceClient } from "./instance.ts";
import { meanOf, type RankingScores, scoresOf } from "./metrics.ts";
import { type ServedGateway, serveGateway } from "./serve.ts";

/** Chunks that are asked for, because several can be of one page. */
const CHUNKS = 20;
const LANES = 4;

const SEARCHES: readonly (readonly [title: string, retrieval: object])[] = [
	["hybrid", { retrieval_type: "hybrid" }],
	["hybrid, any word", { retrieval_type: "hybrid", keyword_match_mode: "or" }],
	["vector", { retrieval_type: "vector" }],
	["keyword", { retrieval_type: "keyword" }],
	["keyword, any word", { retrieval_type: "keyword", keyword_match_mode: "or" }],
];

const options = readOptions(
	{
		url: { type: "string" },
		account: { type: "string" },
		token: { type: "string" },
		model: { type: "string" },
	},
	`npm run eval:search -- [options]

  --url URL       a gateway that runs (default: one that is started, on the simulator)
  --account NAME  its account (local)
  --token NAME    the environment variable with its token
  --model ID      the embedding model (the default of an instance)`,
);

interface Measured {
	question: CorpusQuestion;
	scores: RankingScores;
}

async function measure(instance: SearchInstanceClient, retrieval: object): Promise<Measured[]> {
	const questions = corpusQuestions();
	const measured: Measured[] = [];
	const lane = async (): Promise<void> => {
		for (let question = questions.pop(); question; question = questions.pop()) {
			const { chunks } = await instance.search(question.text, {
				...{ ...retrieval, max_num_results: CHUNKS, match_threshold: 0 },
			});
			const found = chunks.map(({ item }) => item.key);
			measured.push({ question, scores: scoresOf({ found, answers: question.answers }) });
		}
	};
	await Promise.all(Array.from({ length: LANES }, lane));
	return measured;
}

const shown = (value: number): string => value.toFixed(3);

function rowOf(title: string, measured: readonly Measured[]): string {
	const all = meanOf(measured.map(({ scores }) => scores));
	const kinds = QUESTION_KINDS.map((kind) =>
		shown(
			meanOf(measured.filter(({ question }) => question.kind === kind).map(({ scores }) => scores)).recall,
		),
	);
	return `| ${[title, shown(all.recall), shown(all.reciprocalRank), shown(all.ndcg), ...kinds].join(" | ")} |`;
}

async function evaluate(gateway: GatewayAddress): Promise<void> {
	const instance = new SearchInstanceClient(gateway, `eval-${process.pid}`);
	await instance.create(options.model === undefined ? {} : { embedding_model: options.model });
	try {
		const pages = corpusPages();
		const startedAt = performance.now();
		await instance.uploadAll(pages);
		const { completed } = await instance.whenIndexed();
		const seconds = (performance.now() - startedAt) / 1_000;
		console.log(`${completed} of ${pages.length} pages in ${seconds.toFixed(1)} s\n`);
		const kinds = QUESTION_KINDS.map((kind) => `recall: ${kind}`);
		const titles = ["Search", "recall@10", "MRR@10", "nDCG@10", ...kinds];
		console.log(`| ${titles.join(" | ")} |\n| ${titles.map(() => "---").join(" | ")} |`);
		for (const [title, retrieval] of SEARCHES) console.log(rowOf(title, await measure(instance, retrieval)));
	} finally {
		await instance.delete();
	}
}

const account = options.account ?? "local";
const state = mkdtempSync(join(tmpdir(), "ganglion-eval-"));
let served: ServedGateway | undefined;
try {
	served = options.url === undefined ? await serveGateway(state) : undefined;
	const url = new URL(served?.url ?? options.url ?? "").origin;
	const token = options.token === undefined ? undefined : process.env[options.token];
	await evaluate({ url, account, token });
} finally {
	await served?.stop();
	rmSync(state, { recursive: true, force: true });
}

import { Badge } from "@cloudflare/kumo/components/badge";
import { useState } from "react";
import type { ComparedAnswer, Difference } from "../../../src/gateways/comparisons/records.ts";
import { useLoad } from "../api/use-load.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { dollars, instant, integer, milliseconds } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Pager } from "../parts/pager.tsx";
import { useSession } from "../session/session.ts";
import type { ShownComparison } from "./records.ts";

interface Props {
	/** The path of the results. */
	path: string;
	hasJudge?: boolean;
	/** Loads the results again if it changes. */
	version?: string | number | null;
	empty: string;
}

const PER_PAGE = 20;
/** Longer texts are folded. */
const SHOWN_CHARACTERS = 300;
const SHOWN_DIFFERENCES = 10;

/** Answers beside those of logs, by page. */
export function Comparisons({ path, hasJudge = false, version, empty }: Props) {
	const { api } = useSession();
	const [page, setPage] = useState(1);
	const results = useLoad(
		(signal) => api.get<ShownComparison[]>(path, { page, per_page: PER_PAGE }, signal),
		[api, path, page, version],
	);
	return (
		<Loading of={results}>
			{({ result, info }) => (
				<>
					<DataTable
						label="Comparisons"
						columns={hasJudge ? [...COLUMNS, SCORE] : COLUMNS}
						rows={result}
						rowKey={({ log }) => log}
						empty={empty}
					/>
					<Pager page={page} hasOlder={page * PER_PAGE < (info.total_count ?? 0)} onPage={setPage} />
				</>
			)}
		</Loading>
	);
}

const COLUMNS: readonly Column<ShownComparison>[] = [
	{ title: "Log", cell: ({ created_at }) => instant(created_at) },
	{ title: "Answer of the log", cell: ({ before }) => before && <Answer answer={before} /> },
	{
		title: "New answer",
		cell: ({ after, error }) =>
			error ? (
				<p className="compared">
					<Badge variant="error">{error.code}</Badge> {error.message}
				</p>
			) : (
				after && <Answer answer={after} />
			),
	},
	{ title: "Differences", cell: (comparison) => <Differences comparison={comparison} /> },
];

const SCORE: Column<ShownComparison> = {
	title: "Score",
	cell: ({ judge }) =>
		judge && (
			<div className="compared">
				{judge.score === undefined ? "–" : judge.score.toFixed(2)}
				<p className="subtle">{judge.reason ?? judge.error}</p>
			</div>
		),
};

function Answer({ answer }: { answer: ComparedAnswer }) {
	const {
		model,
		text,
		text_complete,
		tool_calls: calls = [],
		tokens_in,
		tokens_out,
		cost,
		duration,
	} = answer;
	const all = [text, ...calls.map((call) => `${call.name}(${call.arguments})`)].filter(Boolean).join("\n");
	const shown = `${all}${text_complete ? "" : " …"}`;
	const facts = [
		model,
		tokens_out !== null && `${integer(tokens_in ?? 0)} + ${integer(tokens_out)} tokens`,
		cost !== null && dollars(cost),
		duration !== null && milliseconds(duration),
	];
	return (
		<div className="compared">
			{shown.length <= SHOWN_CHARACTERS ? (
				<p className="answer">{shown}</p>
			) : (
				<details>
					<summary>
						<span className="folded">{shown.slice(0, SHOWN_CHARACTERS)} …</span>
						<span className="unfolded">Less</span>
					</summary>
					<p className="answer">{shown}</p>
				</details>
			)}
			<p className="subtle">{facts.filter(Boolean).join(" · ")}</p>
		</div>
	);
}

function Differences({
	comparison: { same, differences, differences_complete: isComplete },
}: {
	comparison: ShownComparison;
}) {
	if (same === undefined) return "–";
	if (same) return <Badge variant="success">same</Badge>;
	if (!differences) return <Badge variant="secondary">other text</Badge>;
	const more = differences.length - SHOWN_DIFFERENCES;
	return (
		<ul className="compared plain" aria-label="Differences">
			{differences.slice(0, SHOWN_DIFFERENCES).map((difference) => (
				<li key={difference.path}>
					<code>{difference.path}</code> {valuesOf(difference)}
				</li>
			))}
			{more > 0 && <li className="subtle">{isComplete ? `${more} more` : `more than ${more} more`}</li>}
		</ul>
	);
}

function valuesOf({ kind, before = "", after = "" }: Difference): string {
	if (kind === "added") return `added: ${after}`;
	return kind === "removed" ? `removed: ${before}` : `${before} → ${after}`;
}

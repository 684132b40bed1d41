import { Meter } from "@cloudflare/kumo/components/meter";
import type { Score } from "./output-parts.ts";

const percent = (score: number): string => `${(score * 100).toFixed(1)} %`;

export const Scores = ({ scores }: { scores: readonly Score[] }) => (
	<div className="stack">
		{scores.map(({ label, score }) => (
			<Meter key={`${label} ${score}`} label={label} value={score} max={1} customValue={percent(score)} />
		))}
	</div>
);

interface RankingProps {
	/** The best first. `id`: the number of the text. */
	ranks: readonly { id: number; score: number }[];
	texts: readonly string[];
}

export const Ranking = ({ ranks, texts }: RankingProps) => (
	<ol className="ranking" aria-label="Ranking">
		{ranks.map(({ id, score }) => (
			<li key={id}>
				{texts[id] ?? `Text ${id + 1}`} <span className="subtle">{score.toFixed(4)}</span>
			</li>
		))}
	</ol>
);

import type { FoundChunk } from "../api/types.ts";

/** Chunks of a search, the best first, each with its score and the parts of it. */
export function FoundChunks({ chunks, hint }: { chunks: readonly FoundChunk[]; hint: string }) {
	if (chunks.length === 0) return <p className="empty">No chunk matches. {hint}</p>;
	return (
		<ol className="found-chunks" aria-label="Chunks">
			{chunks.map((chunk, index) => (
				<li key={chunk.id} className="found">
					<div className="found-head">
						<span className="found-rank">{index + 1}</span>
						<strong>{chunk.item.key}</strong>
						<span className="found-score">
							<span className="subtle">score</span> {chunk.score.toFixed(3)}
						</span>
					</div>
					<Parts details={chunk.scoring_details} />
					<p>{chunk.text}</p>
				</li>
			))}
		</ol>
	);
}

/** The best keyword score of a search has no upper limit, so only similarities have bars. */
function Parts({ details }: { details: FoundChunk["scoring_details"] }) {
	const { vector_score, vector_rank, keyword_score, keyword_rank, reranking_score } = details;
	return (
		<dl className="found-parts">
			<Part name="Meaning" rank={vector_rank} score={vector_score} hasBar />
			<Part name="Keyword (BM25)" rank={keyword_rank} score={keyword_score} />
			<Part name="Reranking" score={reranking_score} hasBar />
		</dl>
	);
}

interface PartProps {
	name: string;
	score: number | undefined;
	rank?: number | undefined;
	hasBar?: boolean;
}

function Part({ name, score, rank, hasBar = false }: PartProps) {
	if (score === undefined) return null;
	return (
		<div>
			<dt>{name}</dt>
			<dd>
				{hasBar && <meter aria-label={name} min={0} max={1} value={Math.max(0, Math.min(1, score))} />}{" "}
				{scoreText(score)}
				{rank !== undefined && <span className="subtle"> rank {rank}</span>}
			</dd>
		</div>
	);
}

const SMALLEST_SHOWN = 0.001;

const scoreText = (score: number): string =>
	score !== 0 && Math.abs(score) < SMALLEST_SHOWN ? score.toExponential(1) : score.toFixed(3);

import { Badge } from "@cloudflare/kumo/components/badge";
import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { type FormEvent, useState } from "react";
import { needsTrigram } from "../../../src/retrieval/search/unspaced-scripts.ts";
import type { SearchInstance } from "../api/types.ts";
import { Failure } from "../parts/failure.tsx";
import { Section } from "../parts/page.tsx";
import { AnswerText } from "../playground/answer-text.tsx";
import { MetricsLine } from "../playground/metrics-line.tsx";
import { FoundChunks } from "./found-chunks.tsx";
import { useQuestion } from "./use-question.ts";

const TYPES = { hybrid: "Meaning and keyword", vector: "Meaning", keyword: "Keyword" };
const OTHER_WORDS = "Try other words, or search by any word.";
const NEEDS_PARTS =
	"The keywords of this instance are words between spaces. For Chinese, Japanese or Thai, create one whose keywords are parts of words.";
const MODES = { and: "All words", or: "Any word" };

/** Asks an instance. Shows the chunks as soon as they are found, and then the answer. */
export function QuestionBox({ instance, path }: { instance: SearchInstance; path: string }) {
	const { vector, keyword } = instance.index_method;
	const [question, setQuestion] = useState("");
	const [type, setType] = useState<string>(vector && keyword ? "hybrid" : vector ? "vector" : "keyword");
	const [mode, setMode] = useState("and");
	const { answer, ask, chunks, error, isAsking, isCached, isLexical, metrics, stop } = useQuestion(path);
	const types = Object.entries(TYPES).filter(
		([name]) => (name !== "keyword" ? vector : true) && (name !== "vector" ? keyword : true),
	);

	const hasSpaces = instance.indexing_options.keyword_tokenizer === "trigram" || !needsTrigram(question);

	function submit(event: FormEvent): void {
		event.preventDefault();
		if (question.trim() !== "") ask(question.trim(), { retrieval_type: type, keyword_match_mode: mode });
	}

	return (
		<Section title="Question">
			<form className="question" onSubmit={submit}>
				<Input
					label="Question"
					placeholder="How do I reset a password?"
					autoComplete="off"
					value={question}
					onChange={(event) => setQuestion(event.target.value)}
				/>
				<Select
					label="Find by"
					value={type}
					items={Object.fromEntries(types)}
					onValueChange={(chosen) => setType(chosen ?? type)}
				/>
				{type !== "vector" && (
					<Select
						label="Keywords"
						value={mode}
						items={MODES}
						onValueChange={(chosen) => setMode(chosen ?? mode)}
					/>
				)}
				{isAsking ? (
					<Button type="button" onClick={stop}>
						Stop
					</Button>
				) : (
					<Button type="submit" variant="primary" disabled={question.trim() === ""}>
						Ask
					</Button>
				)}
			</form>
			{error && <Failure error={error} />}
			{answer !== undefined && (
				<article className="message assistant" aria-label="Answer" aria-busy={isAsking}>
					<strong>Answer</strong>
					{answer === "" ? <p>…</p> : <AnswerText text={answer} raw={false} />}
				</article>
			)}
			{metrics && <MetricsLine metrics={metrics} free={false} />}
			{isCached && (
				<p className="plain">
					<Badge variant="info">Cached</Badge> This is an earlier answer to the same or a similar question. No
					model has run.
				</p>
			)}
			{isLexical && (
				<p className="plain">
					<Badge variant="info">Lexical scores</Badge> The simulator has made these embeddings: the scores
					compare words and parts of words, not meanings.
				</p>
			)}
			{chunks && <FoundChunks chunks={chunks} hint={hasSpaces ? OTHER_WORDS : NEEDS_PARTS} />}
		</Section>
	);
}

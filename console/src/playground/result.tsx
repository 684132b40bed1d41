import { Code } from "../parts/code.tsx";
import { useObjectUrl } from "../parts/object-url.ts";
import { Section } from "../parts/page.tsx";
import { Boxes } from "./boxes.tsx";
import { Matrix } from "./matrix.tsx";
import { type Parts, partsOf } from "./output-parts.ts";
import { Ranking, Scores } from "./scores.tsx";
import type { Values } from "./values.ts";

export type TaskOutput = { kind: "file"; file: Blob } | { kind: "json"; value: unknown };

interface Props {
	output: TaskOutput;
	/** What was sent: the texts of a matrix or a ranking, and the image below boxes. */
	values: Values;
}

export function TaskResult({ output, values }: Props) {
	const parts = output.kind === "json" ? partsOf(output.value) : {};
	return (
		<Section title="Result">
			{output.kind === "file" ? (
				<FileView file={output.file} />
			) : (
				<>
					<PartsView parts={parts} values={values} />
					<details open={Object.keys(parts).length === 0}>
						<summary>Reply</summary>
						<Code label="reply" text={JSON.stringify(output.value, shortened, 2)} />
					</details>
				</>
			)}
		</Section>
	);
}

function PartsView({ parts, values }: { parts: Parts; values: Values }) {
	const { text, image, audio, vectors, ranks, scores, boxes } = parts;
	const picture = values.image instanceof File ? values.image : undefined;
	return (
		<>
			{text !== undefined && <p className="answer">{text}</p>}
			{image && <FileView file={image} />}
			{audio && <FileView file={audio} />}
			{vectors && (
				<Matrix vectors={vectors} texts={linesIn(values, ["text", "contexts", "documents", "queries"])} />
			)}
			{ranks && <Ranking ranks={ranks} texts={linesIn(values, ["contexts"])} />}
			{scores && <Scores scores={scores} />}
			{boxes && picture && <Boxes image={picture} boxes={boxes} />}
		</>
	);
}

function FileView({ file }: { file: Blob }) {
	const address = useObjectUrl(file);
	if (address === undefined) return null;
	if (file.type.startsWith("image/"))
		return <img className="result-image" src={address} alt="The answer of the model" />;
	// biome-ignore lint/a11y/useMediaCaption: speech of the text that the form shows.
	if (file.type.startsWith("audio/")) return <audio controls src={address} />;
	return (
		<a href={address} download>
			Save the answer ({file.type}, {file.size} bytes)
		</a>
	);
}

const linesIn = (values: Values, names: readonly string[]): string[] => {
	const value = names.map((name) => values[name]).find((each) => typeof each === "string" && each !== "");
	return typeof value === "string" ? value.split("\n").filter((line) => line.trim() !== "") : [];
};

const SHOWN_CHARACTERS = 200;
const SHOWN_NUMBERS = 8;

/** Files and vectors of a reply would fill the page. */
function shortened(_: string, value: unknown): unknown {
	if (typeof value === "string" && value.length > SHOWN_CHARACTERS)
		return `${value.slice(0, SHOWN_CHARACTERS)}… (${value.length} characters)`;
	if (Array.isArray(value) && value.length > SHOWN_NUMBERS && value.every((each) => typeof each === "number"))
		return [...value.slice(0, SHOWN_NUMBERS), `… (${value.length} numbers)`];
	return value;
}

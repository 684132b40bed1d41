/** The parts of an answer that the playground shows, found by the shape of the reply. */

export interface Score {
	label: string;
	score: number;
}

/** Relative to the size of the image, from 0 to 1, or in pixels. */
export interface Box extends Score {
	left: number;
	top: number;
	right: number;
	bottom: number;
}

export interface Parts {
	text?: string;
	image?: Blob;
	audio?: Blob;
	vectors?: number[][];
	ranks?: { id: number; score: number }[];
	scores?: Score[];
	boxes?: Box[];
}

type Json = Record<string, unknown>;

const isRecord = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value);
const isNumbers = (value: unknown): value is number[] =>
	Array.isArray(value) && value.every((each) => typeof each === "number");

const isVectors = (value: unknown): value is number[][] => Array.isArray(value) && value.every(isNumbers);

/** Fields of the tasks' replies that contain the text of the answer. */
const TEXT_FIELDS = ["text", "description", "translated_text", "summary", "answer", "caption", "response"];

export function partsOf(value: unknown): Parts {
	if (Array.isArray(value)) return scored(value);
	if (!isRecord(value)) return typeof value === "string" ? { text: value } : {};
	const text = textIn(value);
	const { image, audio, response, objects } = value;
	// BGE-M3 answers vectors in `response`.
	const vectors = [value.data, response].find(isVectors);
	return {
		...(text !== undefined && { text }),
		...(typeof image === "string" && { image: decoded(image, imageType(image)) }),
		...(typeof audio === "string" && {
			audio: decoded(audio, audio.startsWith("UklG") ? "audio/wav" : "audio/mpeg"),
		}),
		...(vectors && { vectors }),
		...(Array.isArray(response) && !vectors && { ranks: response.flatMap(rankOf) }),
		...(typeof value.probability === "number" && {
			scores: [{ label: value.is_complete ? "complete" : "not complete", score: value.probability }],
		}),
		...(Array.isArray(objects) && { boxes: objects.flatMap(boxOfObject) }),
	};
}

function textIn(value: Json): string | undefined {
	for (const name of TEXT_FIELDS) {
		const text = value[name];
		if (typeof text === "string") return text;
	}
	if (Array.isArray(value.translations)) return value.translations.map(String).join("\n");
	return transcriptIn(value.results);
}

/** Deepgram's reply. */
function transcriptIn(results: unknown): string | undefined {
	if (!isRecord(results) || !Array.isArray(results.channels)) return undefined;
	const alternatives = results.channels.flatMap((channel) =>
		isRecord(channel) && Array.isArray(channel.alternatives) ? channel.alternatives.slice(0, 1) : [],
	);
	return alternatives.map((each) => (isRecord(each) ? String(each.transcript ?? "") : "")).join("\n");
}

/** Labels with scores, and boxes if they have some. */
function scored(values: readonly unknown[]): Parts {
	const rows = values.filter(isRecord);
	const scores = rows.flatMap(({ label, score }) =>
		typeof label === "string" && typeof score === "number" ? [{ label, score }] : [],
	);
	const boxes = rows.flatMap(({ box, label, score }): Box[] =>
		isRecord(box)
			? [
					{
						label: String(label),
						score: Number(score),
						left: Number(box.xmin),
						top: Number(box.ymin),
						right: Number(box.xmax),
						bottom: Number(box.ymax),
					},
				]
			: [],
	);
	return { ...(scores.length > 0 && { scores }), ...(boxes.length > 0 && { boxes }) };
}

const rankOf = (value: unknown): { id: number; score: number }[] =>
	isRecord(value) && typeof value.id === "number" && typeof value.score === "number"
		? [{ id: value.id, score: value.score }]
		: [];

const boxOfObject = (value: unknown): Box[] =>
	isRecord(value)
		? [
				{
					label: "object",
					score: 1,
					left: Number(value.x_min),
					top: Number(value.y_min),
					right: Number(value.x_max),
					bottom: Number(value.y_max),
				},
			]
		: [];

const imageType = (base64: string): string =>
	base64.startsWith("/9j/") ? "image/jpeg" : base64.startsWith("UklG") ? "image/webp" : "image/png";

const decoded = (base64: string, type: string): Blob =>
	new Blob([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], { type });

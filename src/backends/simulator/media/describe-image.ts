/** Image to text, and image classification: what the picture measurably is, and that nobody with eyes has seen it. */
import type { ClassifyImageInput, DescribeImageInput, DescribeImageOutput } from "../../../tasks/images.ts";
import type { LabelsOutput } from "../../../tasks/text-transforms.ts";
import { look, orientationOf } from "./look.ts";
import { openPicture, type Picture } from "./picture.ts";

const NAMED_COLOURS = 3;
const NAMED_FROM_SHARE = 0.1;
const MOSTLY_FROM_SHARE = 0.8;
const DARK_BELOW = 0.3;
const BRIGHT_FROM = 0.7;
/** Eight, eighty…, eleven, eighteen, eleven thousand… */
const SOUNDS_LIKE_A_VOWEL = /^(8|1[18]$|1[18]\d{3}$)/;
const DISCLAIMER = "Ganglion's simulator measured it; no model has looked at what it shows.";

export async function describeImage({ image, max_tokens }: DescribeImageInput): Promise<DescribeImageOutput> {
	const picture = await openPicture(image.bytes);
	const words = `${sentence(picture)} ${DISCLAIMER}`.split(" ");
	// A word is a token here.
	return { description: words.slice(0, Math.max(1, max_tokens ?? words.length)).join(" ") };
}

function sentence({ format, width, height, thumbnail }: Picture): string {
	const shape = orientationOf({ width, height });
	const article = SOUNDS_LIKE_A_VOWEL.test(`${width}`) ? "An" : "A";
	const subject = `${article} ${width} by ${height} ${format} image, ${shape === "square" ? shape : `in ${shape} format`}`;
	if (!thumbnail) return `${subject}; its colours were not decoded.`;
	const { colours, brightness } = look(thumbnail);
	const tone =
		brightness < DARK_BELOW ? "dark" : brightness < BRIGHT_FROM ? "of medium brightness" : "bright";
	const seen = colours.filter(({ share }) => share >= NAMED_FROM_SHARE).slice(0, NAMED_COLOURS);
	const names = seen.map(({ name }) => name);
	const [first] = seen;
	const amount = first && first.share >= MOSTLY_FROM_SHARE ? "almost entirely" : "mostly";
	return `${subject}, ${amount} ${inWords(names)}, ${tone}.`;
}

const inWords = (names: string[]): string =>
	names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

const LABELS = 5;
/** Given to every colour first, so that a picture of one colour still has five labels, best first. */
const SMOOTHING = 0.01;

/** Five labels: the colours, by area. Where they were not decoded: the file's kind and its shape. */
export async function classifyImage({ image }: ClassifyImageInput): Promise<LabelsOutput> {
	const picture = await openPicture(image.bytes);
	if (!picture.thumbnail)
		return {
			labels: [
				{ label: `${picture.format} image`, score: 0.6 },
				{ label: `${orientationOf(picture)} image`, score: 0.4 },
			],
		};
	const best = look(picture.thumbnail).colours.slice(0, LABELS);
	const weights = best.map(({ share }) => share + SMOOTHING);
	const sum = weights.reduce((total, weight) => total + weight, 0);
	return { labels: best.map(({ name }, i) => ({ label: name, score: (weights[i] ?? 0) / sum })) };
}

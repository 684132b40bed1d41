/**
 * A corpus for searches, the same at each run: 520 pages about devices that do not exist, and 320 questions with the pages that answer them.
 * The questions of a kind show one ability: they have the words of the page (`words`), other forms of them (`forms`), other words for the
 * same (`synonyms`), or a mistake in the name of the device (`typos`).
 */
export interface CorpusPage {
	key: string;
	text: string;
}

export const QUESTION_KINDS = ["words", "forms", "synonyms", "typos"] as const;
export type QuestionKind = (typeof QUESTION_KINDS)[number];

export interface CorpusQuestion {
	kind: QuestionKind;
	text: string;
	/** The keys of the pages that answer it. */
	answers: readonly string[];
}

interface Device {
	name: string;
	slug: string;
	use: string;
	place: string;
	battery: number;
	radio: string;
	channel: number;
	part: string;
	years: number;
	lamp: string;
	blocked: string;
	code: string;
}

const FAMILIES = "Aldra Borin Cetra Dovil Elmar Fenora Galvin Hestra Isker Jorvik Kelta Lumor Madris".split(
	" ",
);
const MODELS = [110, 205, 310, 420, 515, 630, 745, 860];
const USES = [
	"measures the moisture of soil",
	"counts visitors at a gate",
	"weighs crates on a belt",
	"records the noise of traffic",
	"closes valves of a heating",
	"mixes paint for small orders",
	"sorts letters by their size",
	"warns of smoke in a kitchen",
	"feeds fish in a pond",
	"prints labels for parcels",
	"cuts tiles with a jet of water",
	"lifts pallets onto a shelf",
	"filters dust from a workshop",
];
const PLACES = [
	...["greenhouses", "museums", "breweries", "harbours", "schools", "hospitals", "bakeries", "libraries"],
];
const RADIOS = ["Zigbee", "Bluetooth", "LoRa", "Thread"];
const PARTS = ["motor", "display", "housing", "sensor", "keypad"];
const LAMPS = ["amber", "violet", "green", "white"];
const BLOCKED = ["inlet", "nozzle", "exhaust", "filter mesh", "drain"];

/** One for each family and model. */
const DEVICES: readonly Device[] = FAMILIES.flatMap((family, row) =>
	MODELS.map((model, column): Device => {
		const number = row * MODELS.length + column;
		return {
			...{ name: `${family} ${model}`, slug: `${family}-${model}`.toLowerCase() },
			...{ use: pick(USES, row + column), place: pick(PLACES, column + row * 3) },
			...{ battery: 6 + (number % 37), radio: pick(RADIOS, number), channel: 11 + (number % 53) },
			...{ part: pick(PARTS, number), years: 2 + (number % 6), lamp: pick(LAMPS, number * 3 + row) },
			...{ blocked: pick(BLOCKED, number * 2 + column), code: `E${1_000 + number * 7}` },
		};
	}),
);

function pick<Value>(values: readonly Value[], number: number): Value {
	return values[number % values.length] as Value;
}

const TOPICS: Readonly<Record<string, (device: Device) => string>> = {
	overview: ({ name, use, place }) =>
		`# ${name}\n\nThe ${name} ${use}. It is made for ${place}, and is delivered with a wall bracket and a cable of two metres.\n\nUnpack the device, and keep the box for a return.`,
	power: ({ name, battery }) =>
		`# Power supply of the ${name}\n\nThe battery of the ${name} lasts ${battery} hours. Charge it with the adapter that is in the box. A second battery can be ordered.\n\nThe device switches off when the battery is empty.`,
	network: ({ name, radio, channel }) =>
		`# Network of the ${name}\n\nThe ${name} connects by ${radio} on channel ${channel}. Open the page Connections, and enter the name of the network.\n\nA password has at least twelve characters.`,
	warranty: ({ name, part, years }) =>
		`# Warranty of the ${name}\n\nThe warranty of the ${name} covers the ${part} for ${years} years. A claim needs the invoice and a photograph of the damage.\n\nDamage by salt water is not covered.`,
	faults: ({ name, lamp, blocked, code }) =>
		`# Faults of the ${name}\n\nIf the lamp of the ${name} blinks ${lamp}, the ${blocked} is blocked: clean it with a soft brush. The display shows the fault code ${code}.\n\nCall the service if the fault returns.`,
};

type Topic = "overview" | "power" | "network" | "warranty" | "faults";

/** `count`: other pages are copies of these with other names of devices. */
export function corpusPages(count = DEVICES.length * Object.keys(TOPICS).length): CorpusPage[] {
	const topics = Object.entries(TOPICS);
	return Array.from({ length: count }, (_, index) => {
		const [topic, text] = topics[index % topics.length] as (typeof topics)[number];
		const number = Math.floor(index / topics.length);
		const device = pick(DEVICES, number);
		const series = Math.floor(number / DEVICES.length);
		const name = series === 0 ? device.name : `${device.name} series ${series}`;
		const slug = series === 0 ? device.slug : `${device.slug}-${series}`;
		return { key: `${slug}/${topic}.md`, text: text({ ...device, name }) };
	});
}

const about = ({ slug }: Device, topic: Topic): string[] => [`${slug}/${topic}.md`];

type Ask = (device: Device) => readonly [text: string, topic: Topic];

const QUESTIONS: Readonly<Record<QuestionKind, readonly Ask[]>> = {
	words: [
		({ code }) => [`fault code ${code}`, "faults"],
		({ name }) => [`warranty of the ${name}`, "warranty"],
		({ name }) => [`battery of the ${name}`, "power"],
		({ name }) => [`${name} network channel`, "network"],
	],
	forms: [
		({ name }) => [`${name} cleaning with soft brushes`, "faults"],
		({ name }) => [`${name} batteries lasting hours`, "power"],
		({ name }) => [`connecting the ${name}`, "network"],
		({ name, part }) => [`${name} covering of ${part}s`, "warranty"],
	],
	synonyms: [
		({ name }) => [`How long is the guarantee of the ${name}?`, "warranty"],
		({ name }) => [`How many hours does the ${name} run on one charge?`, "power"],
		({ name }) => [`Which wireless standard does the ${name} use?`, "network"],
		({ name }) => [`Why is the ${name} flashing?`, "faults"],
	],
	typos: [
		({ name }) => [`warranty ${misspelt(name)}`, "warranty"],
		({ name }) => [`battery ${misspelt(name)}`, "power"],
		({ name, lamp }) => [`${misspelt(name)} lamp blinks ${lamp}`, "faults"],
		({ name, radio }) => [`${misspelt(name)} ${radio} channel`, "network"],
	],
};

/** `Aldra 310`: `Alrda 310` */
const misspelt = (name: string): string => name.replace(/^(..)(.)(.)/, "$1$3$2");

const QUESTIONS_OF_A_KIND = 80;
/** Has no common factor with the number of devices, so that the questions of a kind are about many of them. */
const STRIDE = 5;

export const corpusQuestions = (): CorpusQuestion[] =>
	QUESTION_KINDS.flatMap((kind, row) =>
		Array.from({ length: QUESTIONS_OF_A_KIND }, (_, index): CorpusQuestion => {
			const device = pick(DEVICES, index * STRIDE + row);
			const [text, topic] = pick(QUESTIONS[kind], index)(device);
			return { kind, text, answers: about(device, topic) };
		}),
	);

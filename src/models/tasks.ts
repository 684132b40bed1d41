/**
 * The titles of tasks, as `models/search` and `tasks/search` list them: one row each. The ids are the product's, except that
 * of Dumb Pipe, which is unknown and made up here. The descriptions are our own.
 */
export interface TitleRow {
	id: string;
	description: string;
	/** Requests per minute and account. Absent: no limit. */
	rate?: number;
}

export const TASK_ROWS = {
	"Text Generation": {
		id: "c329a1f9-323d-4e91-b2aa-582dd4188d34",
		description: "Continues a conversation or a prompt: chat, tools, structured answers, code.",
		rate: 300,
	},
	"Text Embeddings": {
		id: "0137cdcf-162a-4108-94f2-1ca59e8c65ee",
		description:
			"Turns texts into vectors that are close where the texts mean alike, for search and retrieval.",
		rate: 3000,
	},
	"Text Classification": {
		id: "19606750-23ed-4371-aab2-c20349b53a60",
		description: "Scores a text against labels, or contexts against a query.",
		rate: 2000,
	},
	Translation: {
		id: "f57d07cb-9087-487a-bbbf-bc3e17fecc4b",
		description: "Says a text again in another language.",
		rate: 720,
	},
	Summarization: {
		id: "6f4e65d8-da0f-40d2-9aa4-db582a5a04fd",
		description: "Makes a text shorter and keeps what matters.",
		rate: 1500,
	},
	"Automatic Speech Recognition": {
		id: "dfce1c48-2a81-462e-a7fd-de97ce985207",
		description: "Writes down what is said in a recording.",
		rate: 720,
	},
	"Text-to-Speech": {
		id: "b52660a1-9a95-4ab2-8b1d-f232be34604a",
		description: "Reads a text aloud.",
	},
	"Text-to-Image": {
		id: "3d6e1f35-341b-4915-a6c8-9a7142a9033a",
		description: "Draws a picture from a description, or changes one by it.",
		rate: 720,
	},
	"Image-to-Text": {
		id: "882a91d1-c331-4eec-bdad-834c919942a8",
		description: "Describes a picture, or answers a question about it.",
		rate: 720,
	},
	"Image Classification": {
		id: "00cd182b-bf30-4fc4-8481-84a3ab349657",
		description: "Scores a picture against labels.",
		rate: 3000,
	},
	"Object Detection": {
		id: "9c178979-90d9-49d8-9e2c-0f1cf01815d4",
		description: "Finds things in a picture and says where they are.",
		rate: 3000,
	},
	"Dumb Pipe": {
		id: "6076c5fc-112c-575e-a331-58c8bcb425e4",
		description: "Hands inputs to a model and its answer back as they are.",
	},
} as const satisfies Record<string, TitleRow>;

export type TaskTitle = keyof typeof TASK_ROWS;

// The table is not empty, and its keys are titles.
export const TASK_TITLES = Object.keys(TASK_ROWS) as [TaskTitle, ...TaskTitle[]];

export interface ListedTask {
	id: string;
	name: TaskTitle;
	description: string;
}

export function listedTask(name: TaskTitle): ListedTask {
	const { id, description } = TASK_ROWS[name];
	return { id, name, description };
}

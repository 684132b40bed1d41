/**
 * The tasks as `models/search` and `tasks/search` list them. The ids are the product's, except that of Dumb Pipe, which is
 * unknown and made up here. The descriptions are our own.
 */
import type { TaskTitle } from "./model.ts";

export interface TaskEntry {
	id: string;
	name: TaskTitle;
	description: string;
}

const task = (id: string, name: TaskTitle, description: string): TaskEntry => ({ id, name, description });

export const TASKS: Record<TaskTitle, TaskEntry> = {
	"Text Generation": task(
		"c329a1f9-323d-4e91-b2aa-582dd4188d34",
		"Text Generation",
		"Continues a conversation or a prompt: chat, tools, structured answers, code.",
	),
	"Text Embeddings": task(
		"0137cdcf-162a-4108-94f2-1ca59e8c65ee",
		"Text Embeddings",
		"Turns texts into vectors that are close where the texts mean alike, for search and retrieval.",
	),
	"Text Classification": task(
		"19606750-23ed-4371-aab2-c20349b53a60",
		"Text Classification",
		"Scores a text against labels, or contexts against a query.",
	),
	Translation: task(
		"f57d07cb-9087-487a-bbbf-bc3e17fecc4b",
		"Translation",
		"Says a text again in another language.",
	),
	Summarization: task(
		"6f4e65d8-da0f-40d2-9aa4-db582a5a04fd",
		"Summarization",
		"Makes a text shorter and keeps what matters.",
	),
	"Automatic Speech Recognition": task(
		"dfce1c48-2a81-462e-a7fd-de97ce985207",
		"Automatic Speech Recognition",
		"Writes down what is said in a recording.",
	),
	"Text-to-Speech": task("b52660a1-9a95-4ab2-8b1d-f232be34604a", "Text-to-Speech", "Reads a text aloud."),
	"Text-to-Image": task(
		"3d6e1f35-341b-4915-a6c8-9a7142a9033a",
		"Text-to-Image",
		"Draws a picture from a description, or changes one by it.",
	),
	"Image-to-Text": task(
		"882a91d1-c331-4eec-bdad-834c919942a8",
		"Image-to-Text",
		"Describes a picture, or answers a question about it.",
	),
	"Image Classification": task(
		"00cd182b-bf30-4fc4-8481-84a3ab349657",
		"Image Classification",
		"Scores a picture against labels.",
	),
	"Object Detection": task(
		"9c178979-90d9-49d8-9e2c-0f1cf01815d4",
		"Object Detection",
		"Finds things in a picture and says where they are.",
	),
	"Dumb Pipe": task(
		"6076c5fc-112c-575e-a331-58c8bcb425e4",
		"Dumb Pipe",
		"Hands inputs to a model and its answer back as they are.",
	),
};

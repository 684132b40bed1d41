/** The call in curl: a command of a POSIX shell, which also reads the files. */
import { baseUrl, type ExampleCall, type ExampleFile } from "./example-input.ts";
import { withFiles } from "./placeholders.ts";
import { queryOf } from "./query.ts";

/** A longer argument is the standard input: the system limits the length of an argument. */
const MAX_ARGUMENT_CHARACTERS = 4_000;
const JSON_TYPE = `-H "content-type: application/json"`;

export function curlExample(call: ExampleCall): string {
	const { fields, files } = call;
	const [file] = files;
	const isBody = file?.encoding === "body" || (call.raw && Object.keys(fields).length === 0);
	if (call.multipart) return command(call, formOptions(call));
	if (file && isBody) {
		const query = queryOf(fields);
		const options = [
			`-H ${quoted(`content-type: ${file.type}`)}`,
			`--data-binary ${quoted(`@${file.name}`)}`,
		];
		return command(call, options, query.size > 0 ? `?${query}` : "");
	}
	if (files.length > 0)
		return `{ ${jsonWithFiles(call)}; } |\n${command(call, [JSON_TYPE, "--data-binary @-"])}`;
	const json = JSON.stringify(fields);
	if (json.length > MAX_ARGUMENT_CHARACTERS)
		return `${command(call, [JSON_TYPE, "--data-binary @- <<'END'"])}\n${json}\nEND`;
	return command(call, [JSON_TYPE, `-d ${quoted(json)}`]);
}

function command(call: ExampleCall, options: readonly string[], query = ""): string {
	const url = `${baseUrl(call)}/run/${call.model}${query}`;
	const lines = [
		`curl ${query === "" ? url : quoted(url)}`,
		...(call.open ? [] : [`-H "authorization: Bearer $TOKEN"`]),
		...(call.answerType === undefined ? [] : [`--output answer.${extension(call)}`]),
		...options,
	];
	return lines.join(" \\\n  ");
}

/** A single quote ends a quoted text of the shell, so it is escaped outside of it. */
const quoted = (text: string): string =>
	/^[\w@./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const formOptions = ({ fields, files }: ExampleCall): string[] => [
	...Object.entries(fields).map(([name, value]) => `--form-string ${quoted(`${name}=${value}`)}`),
	...files.map(({ field, name, type }) => {
		const path = name.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
		return `-F ${quoted(`${field}=@"${path}";type=${type}`)}`;
	}),
];

/** Commands that print the fields as JSON. */
function jsonWithFiles({ fields, files }: ExampleCall): string {
	let text = "";
	const commands: string[] = [];
	const print = (): void => {
		commands.push(`printf '%s' ${quoted(text)}`);
		text = "";
	};
	for (const part of withFiles(fields, files)) {
		if (typeof part === "string") {
			text += part;
			continue;
		}
		const [before, read, after] = readerOf(part.file);
		text += before;
		print();
		commands.push(read);
		text = after;
	}
	print();
	return commands.join("\n  ");
}

/** What precedes the file in the JSON, the command that prints it, and what follows. */
function readerOf({ name, type, encoding }: ExampleFile): [before: string, read: string, after: string] {
	const path = quoted(name);
	if (encoding === "bytes")
		return ["[", `od -An -v -tu1 < ${path} | tr -s ' \\n' ',' | sed 's/^,//; s/,$//'`, "]"];
	const prefix = encoding === "data-url" ? `data:${type};base64,` : "";
	return [`"${prefix}`, `base64 < ${path} | tr -d '\\n'`, '"'];
}

/** Aura answers in the encoding of the request. */
function extension({ answerType = "", fields }: ExampleCall): string {
	const encoding = typeof fields.encoding === "string" ? fields.encoding : undefined;
	if (encoding !== undefined) return encoding === "linear16" ? "wav" : encoding;
	const subtype = answerType.split("/")[1] ?? "bin";
	return subtype === "mpeg" ? "mp3" : subtype;
}

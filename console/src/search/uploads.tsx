import { Input } from "@cloudflare/kumo/components/input";
import { useState } from "react";
import { DropZone } from "../parts/drop-zone.tsx";
import { useSession } from "../session/session.ts";

interface Props {
	/** Of the instance. */
	path: string;
	onUploaded(): void;
}

interface Upload {
	name: string;
	error?: string;
}

/** Sends files one after another. One that is refused does not stop the others. */
export function Uploads({ path, onUploaded }: Props) {
	const { api } = useSession();
	const [folder, setFolder] = useState("");
	const [sending, setSending] = useState<string>();
	const [refused, setRefused] = useState<readonly Upload[]>([]);

	async function upload(files: readonly File[]): Promise<void> {
		setRefused([]);
		for (const [index, file] of files.entries()) {
			const name = keyOf(folder, file.name);
			setSending(`${name} (${index + 1} of ${files.length})`);
			const body = new FormData();
			body.set("file", file, name);
			try {
				await api.fetch(`${path}/items`, { method: "POST", body });
				onUploaded();
			} catch (failure) {
				const error = failure instanceof Error ? failure.message : String(failure);
				setRefused((before) => [...before, { name, error }]);
			}
		}
		setSending(undefined);
	}

	return (
		<DropZone
			label="Upload files"
			hint="Drop text, Markdown, HTML, PDF, Office files or images here. A file with the name of an item replaces it."
			onFiles={(files) => void upload(files)}
		>
			<Input
				label="Folder"
				placeholder="guides/"
				autoComplete="off"
				value={folder}
				onChange={(event) => setFolder(event.target.value)}
			/>
			<span role="status">{sending !== undefined && `${sending} is being sent …`}</span>
			{refused.length > 0 && (
				<div role="alert">
					<ul className="plain refused">
						{refused.map(({ name, error }) => (
							<li key={name}>
								<strong>{name}</strong>: {error}
							</li>
						))}
					</ul>
				</div>
			)}
		</DropZone>
	);
}

/** `guides` and `a.md`: `guides/a.md` */
const keyOf = (folder: string, name: string): string => {
	const trimmed = folder.trim().replace(/^\/+|\/+$/g, "");
	return trimmed === "" ? name : `${trimmed}/${name}`;
};

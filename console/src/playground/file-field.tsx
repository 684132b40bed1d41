import { useEffect, useId, useRef } from "react";
import { RecordButton } from "./record-button.tsx";

interface Props {
	label: string;
	accept: string;
	file: File | undefined;
	required?: boolean;
	onFile(file: File | undefined): void;
}

export function FileField({ label, accept, file, required = false, onFile }: Props) {
	const id = useId();
	const input = useRef<HTMLInputElement>(null);
	// The control shows a recording as a chosen file, and none after the file was sent.
	useEffect(() => {
		if (!input.current || input.current.files?.[0] === file) return;
		const files = new DataTransfer();
		if (file) files.items.add(file);
		input.current.files = files.files;
	}, [file]);
	return (
		<div className="file">
			<label htmlFor={id}>{label}</label>
			<input
				ref={input}
				id={id}
				type="file"
				accept={accept}
				required={required}
				onChange={(event) => onFile(event.target.files?.[0])}
			/>
			{accept.startsWith("audio/") && <RecordButton onFile={onFile} />}
		</div>
	);
}

export const dataUrlOf = (file: Blob): Promise<string> =>
	new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve(String(reader.result));
		reader.onerror = () => reject(reader.error);
		reader.readAsDataURL(file);
	});

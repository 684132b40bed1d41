import { type ReactNode, useId, useState } from "react";

interface Props {
	label: string;
	hint: string;
	/** As the `accept` of an input of files. */
	accept?: string;
	onFiles(files: readonly File[]): void;
	children?: ReactNode;
}

/** Files by drop, or by a control that does the same with the keyboard. */
export function DropZone({ label, hint, accept, onFiles, children }: Props) {
	const picker = useId();
	const [isOver, setIsOver] = useState(false);
	return (
		// biome-ignore lint/a11y/noStaticElementInteractions: the control inside does the same with the keyboard.
		<div
			className={isOver ? "drop over" : "drop"}
			onDragOver={(event) => {
				event.preventDefault();
				setIsOver(true);
			}}
			onDragLeave={() => setIsOver(false)}
			onDrop={(event) => {
				event.preventDefault();
				setIsOver(false);
				onFiles([...event.dataTransfer.files]);
			}}
		>
			<label htmlFor={picker}>{label}</label>
			<p className="subtle plain">{hint}</p>
			<input
				id={picker}
				type="file"
				multiple
				accept={accept}
				onChange={(event) => onFiles([...(event.target.files ?? [])])}
			/>
			{children}
		</div>
	);
}

;;; peers.el --- The same answers in Lisp, to measure against  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What one would write without a module, written with care: one pass, no consing that the answer does
;; not need, hash tables, `json-serialize'.  Each gives the very bytes that the module gives for the
;; same request; bench.el holds them to that before it measures.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'url-util)

;;;; Frames

(defun peers-frame (id result)
  "Return the unibyte frame that answers request ID with RESULT, a plist."
  (let* ((text (json-serialize (list :jsonrpc "2.0" :id id :result result)
                               :null-object nil :false-object :json-false))
         ;; Emacs 28 gives characters, 30 bytes.
         (body (if (multibyte-string-p text) (encode-coding-string text 'utf-8 t) text)))
    (concat (format "Content-Length: %d\r\n\r\n" (length body)) body)))

(defsubst peers-position (line character)
  "Return the Position of LINE and CHARACTER."
  (list :line line :character character))

(defun peers-range (sl sc el ec)
  "Return the Range from line SL, character SC to line EL, character EC."
  (list :start (peers-position sl sc) :end (peers-position el ec)))

;;;; Text

(defun peers-units (beg end)
  "Return how many UTF-16 units the text between BEG and END on a line has."
  (let ((units (- end beg)))
    (unless (= units (- (position-bytes end) (position-bytes beg)))
      (while (< beg end)
        (when (<= #x10000 (char-after beg) #x10ffff)
          (setq units (1+ units)))
        (setq beg (1+ beg))))
    units))

(defun peers-trimmed (beg end max)
  "Return the text between BEG and END trimmed, at most MAX characters of it."
  (save-excursion
    (goto-char beg)
    (skip-chars-forward " \t" end)
    (setq beg (point))
    (goto-char end)
    (skip-chars-backward " \t" beg)
    (buffer-substring-no-properties beg (min (point) (+ beg max)))))

(defun peers-name-bounds (name bol eol)
  "Return the bounds of the first whole NAME between BOL and EOL, a cons, or nil.
Whole is what no word character touches, nor one like `-' that NAME holds."
  (let* ((case-fold-search nil)
         (length (length name))
         (edge (if (string-match-p "-" name) "[[:alnum:]_-]" "[[:alnum:]_]"))
         found)
    (save-excursion
      (goto-char bol)
      (while (and (not found) (search-forward name eol t))
        (let ((beg (- (point) length)))
          (if (or (and (> beg bol)
                       (string-match-p edge (char-to-string (char-before beg))))
                  (and (< (point) eol)
                       (looking-at-p edge)))
              (goto-char (1+ beg))
            (setq found (cons beg (point)))))))
    found))

;;;; Document symbols

(defconst peers--kinds
  (let ((table (make-hash-table :test #'equal)))
    (pcase-dolist (`(,word ,kind)
                   '(("def" "function") ("async def" "function") ("function" "function")
                     ("class" "class") ("struct" "struct") ("method" "method")
                     ("variable" "variable") ("constant" "constant")))
      (puthash word kind table))
    table)
  "The kinds that the words of imenu backends mean.")

(defun peers--symbol (entry parent)
  "Return the DocumentSymbol of ENTRY inside a symbol of kind PARENT.
ENTRY is (NAME LINE POS . CHILDREN); the current buffer holds the text."
  (pcase-let* ((`(,name ,line ,pos . ,children) entry)
               (kind nil)
               (nodes nil))
    (when (string-match " (\\([^()]+\\))\\'" name)
      (when-let ((found (gethash (match-string 1 name) peers--kinds)))
        (setq kind found
              name (substring name 0 (match-beginning 0)))))
    (when (and children (null line))
      (pcase-let ((`(,_ ,own-line ,own-pos) (car children)))
        (setq line own-line pos own-pos children (cdr children))))
    (when (and (equal kind "function") (equal parent "class"))
      (setq kind "method"))
    (goto-char pos)
    (let* ((bol (line-beginning-position))
           (eol (line-end-position))
           (bounds (peers-name-bounds name pos eol))
           (start (peers-units bol (car bounds)))
           (end (+ start (peers-units (car bounds) (cdr bounds)))))
      (dolist (child children)
        (push (peers--symbol child kind) nodes))
      (nconc (list :name name)
             (and kind (list :kind kind))
             (list :detail (peers-trimmed bol eol 120)
                   :selectionRange (peers-range line start line end))
             (and nodes (list :children (vconcat (nreverse nodes))))))))

(defun peers-document-symbols (id uri document index)
  "Return the frame that answers request ID with INDEX, the symbols of URI.
DOCUMENT is the document block; INDEX is in file order, its entries are
\(NAME LINE POS . CHILDREN)."
  (save-excursion
    (peers-frame id (list :uri uri
                          :document document
                          :documentSymbols (vconcat (mapcar (lambda (entry)
                                                              (peers--symbol entry nil))
                                                            index))
                          :provenance '(:documentSymbols (:kind "textual" :providers ["imenu"]))))))

;;;; Diagnostics

(defconst peers--ranks '(("error" . 0) ("warning" . 1) ("info" . 2) ("hint" . 3))
  "The words of severity and their ranks.")

(defun peers--before-p (a b)
  "Return non-nil if the item A stands before the item B in the file."
  (let ((a (aref a 4)) (b (aref b 4)) (idx 0))
    (while (and (< idx 3) (= (aref a idx) (aref b idx)))
      (setq idx (1+ idx)))
    (< (aref a idx) (aref b idx))))

(defun peers--once (items)
  "Return ITEMS, a list in file order, each problem once."
  (let (kept rivals)
    (dolist (item items)
      (if (and rivals (equal (aref (car rivals) 4) (aref item 4)))
          (unless (seq-some (lambda (rival)
                              (and (equal (aref rival 1) (aref item 1))
                                   (equal (aref rival 5) (aref item 5))))
                            rivals)
            (push item rivals)
            (push item kept))
        (setq rivals (list item))
        (push item kept)))
    (nreverse kept)))

(defun peers--in-order (items)
  "Return ITEMS in file order, sorted only if they are not."
  (let ((rest items))
    (while (and (cdr rest) (not (peers--before-p (cadr rest) (car rest))))
      (setq rest (cdr rest)))
    (if (cdr rest) (sort (copy-sequence items) #'peers--before-p) items)))

(defun peers--diagnostic (item uri distance)
  "Return ITEM of URI as a Diagnostic, with DISTANCE if that is not nil."
  (let* ((range (aref item 4))
         (code (aref item 3))
         (tail (nconc (list :range (peers-range (aref range 0) (aref range 1)
                                                (aref range 2) (aref range 3))
                            :message (aref item 5))
                      (and distance (list :distance distance)))))
    (nconc (list :uri uri :severity (aref item 1) :source (aref item 2))
           (if code (cons :code (cons code tail)) tail))))

(defun peers-diagnostics-all (id uri document items)
  "Return the frame that answers request ID with all ITEMS, diagnostics of URI.
DOCUMENT is the document block."
  (let ((items (peers--once (peers--in-order items))))
    (peers-frame id (list :diagnostics (vconcat (mapcar (lambda (item)
                                                          (peers--diagnostic item uri nil))
                                                        items))
                          :fresh t
                          :document document
                          :total (length items)))))

(defun peers-diagnostics-near (id uri document items line character limit)
  "Return the frame that answers request ID with the LIMIT nearest of ITEMS.
They are diagnostics of URI, the nearest to LINE and CHARACTER come first;
DOCUMENT is the document block."
  ;; One number orders: not containing, distance, along the line, severity; then the file's order.
  ;; The best ones are kept as a sorted list, the worst first; most items only look at that one.
  (let ((items (peers--once (peers--in-order items)))
        (best nil)
        (n-best 0)
        (total 0))
    (dolist (item items)
      (setq total (1+ total))
      (let* ((range (aref item 4))
             (sl (aref range 0))
             (sc (aref range 1))
             (el (aref range 2))
             (ec (aref range 3))
             (starts-after (or (> sl line) (and (= sl line) (> sc character))))
             (ends-before (or (< el line) (and (= el line) (< ec character))))
             (distance (cond ((< el line) (- line el))
                             ((> sl line) (- sl line))
                             (t 0)))
             (along (cond (starts-after (abs (- sc character)))
                          (ends-before (abs (- ec character)))
                          (t 0)))
             (key (logior (if (or starts-after ends-before) (ash 1 58) 0)
                          (ash (logior (ash distance 24) along) 2)
                          (cdr (assoc (aref item 1) peers--ranks)))))
        (when (or (< n-best limit) (< key (caar best)))
          (let ((new (cons key item)))
            (if (= n-best limit)
                (pop best)
              (setq n-best (1+ n-best)))
            (if (or (null best) (>= key (caar best)))
                (push new best)
              (let ((at best))
                (while (and (cdr at) (< key (caadr at)))
                  (setq at (cdr at)))
                (setcdr at (cons new (cdr at)))))))))
    (let (found)
      (dolist (one best)
        (let ((range (aref (cdr one) 4)))
          (push (peers--diagnostic (cdr one) uri
                                   (cond ((< (aref range 2) line) (- line (aref range 2)))
                                         ((> (aref range 0) line) (- (aref range 0) line))
                                         (t 0)))
                found)))
      (peers-frame id (nconc (list :diagnostics (vconcat found)
                                   :fresh t
                                   :document document)
                             (and (> total limit)
                                  (list :truncated
                                        (list :diagnostics (list :returned limit :total total))))
                             (list :total total))))))

;;;; Positions

(defun peers-positions (positions)
  "Return the conses (LINE . CHARACTER) of POSITIONS, each asked by itself."
  (mapcar (lambda (pos)
            (save-excursion
              (goto-char pos)
              (cons (1- (line-number-at-pos pos t))
                    (peers-units (line-beginning-position) pos))))
          positions))

;;;; Places

(defun peers-locations (id uri position document places limit)
  "Return the frame that answers request ID with PLACES, visiting their files.
URI, POSITION and DOCUMENT are those of the request.  PLACES are vectors FILE,
LINE, CHARACTER, nil, nil, NAME, at most LIMIT."
  (let ((uris (make-hash-table :test #'equal))
        (seen (make-hash-table :test #'equal))
        found)
    (dolist (place places)
      (let* ((file (aref place 0))
             (line (aref place 1))
             (name (aref place 5)))
        (with-current-buffer (find-file-noselect file)
          (save-excursion
            (goto-char (point-min))
            (forward-line line)
            (let* ((bol (point))
                   (eol (line-end-position))
                   (bounds (peers-name-bounds name bol eol))
                   (start (peers-units bol (car bounds)))
                   (end (+ start (peers-units (car bounds) (cdr bounds))))
                   (key (list file line start end)))
              (unless (gethash key seen)
                (puthash key t seen)
                (push (list :uri (or (gethash file uris)
                                     (puthash file
                                              (concat "file://"
                                                      (url-hexify-string
                                                       file (cons ?/ url-unreserved-chars)))
                                              uris))
                            :range (peers-range line start line end)
                            :role "definition"
                            :preview (peers-trimmed bol eol 200))
                      found)))))))
    (peers-frame id (list :uri uri
                          :position position
                          :document document
                          :definitions (vconcat (seq-take (nreverse found) limit))
                          :provenance '(:definitions (:kind "semantic" :providers ["xref"]))))))

(provide 'peers)
;;; peers.el ends here

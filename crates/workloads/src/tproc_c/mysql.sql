CREATE PROCEDURE new_order(IN p_w INT, IN p_d INT, IN p_c INT, IN p_count INT,
    IN p_lines VARCHAR(210) CHARACTER SET latin1, OUT p_order INT, OUT p_total DECIMAL(12, 2))
BEGIN
    DECLARE v_number INT DEFAULT 0;
    DECLARE v_item, v_supply, v_quantity, v_stock, v_remote, v_all_local INT DEFAULT 0;
    DECLARE v_price, v_amount DECIMAL(6, 2);
    DECLARE v_sum DECIMAL(12, 2) DEFAULT 0;
    DECLARE v_w_tax, v_d_tax, v_discount DECIMAL(4, 4);
    DECLARE v_last VARCHAR(16) CHARACTER SET latin1;
    DECLARE v_credit CHAR(2) CHARACTER SET latin1;
    DECLARE v_name, v_dist VARCHAR(24) CHARACTER SET latin1;
    DECLARE v_data VARCHAR(50) CHARACTER SET latin1;
    DECLARE EXIT HANDLER FOR NOT FOUND
    BEGIN
        ROLLBACK;
        SET p_order = NULL;
    END;

    START TRANSACTION;
    SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax
    FROM customer JOIN warehouse ON w_id = c_w_id
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;

    SELECT d_next_o_id, d_tax INTO p_order, v_d_tax
    FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d;

    SET v_all_local = 1;
    WHILE v_number < p_count DO
        SET v_number = v_number + 1;
        IF SUBSTRING(p_lines, v_number * 14 - 7, 6) <> p_w THEN
            SET v_all_local = 0;
        END IF;
    END WHILE;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (p_order, p_d, p_w, p_c, NOW(), p_count, v_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (p_order, p_d, p_w);

    SET v_number = 0;
    WHILE v_number < p_count DO
        SET v_number = v_number + 1;
        SET v_item = SUBSTRING(p_lines, v_number * 14 - 13, 6);
        SET v_supply = SUBSTRING(p_lines, v_number * 14 - 7, 6);
        SET v_quantity = SUBSTRING(p_lines, v_number * 14 - 1, 2);

        SELECT i_price, i_name, i_data INTO v_price, v_name, v_data FROM item WHERE i_id = v_item;

        SELECT s_quantity, s_data,
            CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                     WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                     WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        INTO v_stock, v_data, v_dist
        FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
        SET v_stock = IF(v_stock >= v_quantity + 10, v_stock - v_quantity, v_stock - v_quantity + 91);
        SET v_remote = IF(v_supply = p_w, 0, 1);
        UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + v_remote
        WHERE s_w_id = v_supply AND s_i_id = v_item;

        SET v_amount = v_quantity * v_price;
        SET v_sum = v_sum + v_amount;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
        VALUES (p_order, p_d, p_w, v_number, v_item, v_supply, v_quantity, v_amount, v_dist);
    END WHILE;
    SET p_total = v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
    COMMIT;
END
-- next
CREATE PROCEDURE payment(IN p_w INT, IN p_d INT, IN p_c_w INT, IN p_c_d INT, IN p_c INT,
    IN p_last VARCHAR(16) CHARACTER SET latin1, IN p_amount DECIMAL(6, 2), OUT p_balance DECIMAL(12, 2))
BEGIN
    DECLARE v_c, v_namesakes INT;
    DECLARE v_w_name, v_d_name VARCHAR(10) CHARACTER SET latin1;
    DECLARE v_first VARCHAR(16) CHARACTER SET latin1;
    DECLARE v_credit CHAR(2) CHARACTER SET latin1;
    DECLARE v_data VARCHAR(500) CHARACTER SET latin1;

    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
    SELECT w_name INTO v_w_name FROM warehouse WHERE w_id = p_w;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
    SELECT d_name INTO v_d_name FROM district WHERE d_w_id = p_w AND d_id = p_d;

    SET v_c = p_c;
    IF v_c = 0 THEN
        SELECT COUNT(*) INTO v_namesakes FROM customer
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
        SET v_namesakes = (v_namesakes - 1) DIV 2;
        SELECT c_id INTO v_c FROM customer
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last
        ORDER BY c_first LIMIT v_namesakes, 1;
    END IF;

    SELECT c_balance - p_amount, c_credit, c_first INTO p_balance, v_credit, v_first
    FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c FOR UPDATE;
    IF v_credit = 'BC' THEN
        SELECT c_data INTO v_data FROM customer
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
        SET v_data = LEFT(CONCAT_WS(' ', v_c, p_c_d, p_c_w, p_d, p_w, p_amount, v_data), 500);
        UPDATE customer SET c_balance = p_balance, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1, c_data = v_data
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
    ELSE
        UPDATE customer SET c_balance = p_balance, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
    END IF;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (v_c, p_c_d, p_c_w, p_d, p_w, NOW(), p_amount, CONCAT(v_w_name, '    ', v_d_name));
    COMMIT;
END
-- next
CREATE PROCEDURE delivery(IN p_w INT, IN p_carrier INT, OUT p_delivered INT)
BEGIN
    DECLARE v_d INT DEFAULT 0;
    DECLARE v_order, v_c INT;
    DECLARE v_total DECIMAL(12, 2);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_order = NULL;

    SET p_delivered = 0;
    START TRANSACTION;
    WHILE v_d < 10 DO
        SET v_d = v_d + 1;
        SELECT no_o_id INTO v_order FROM new_order
        WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF v_order IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
            SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order;
            UPDATE orders SET o_carrier_id = p_carrier
            WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order;
            UPDATE order_line SET ol_delivery_d = NOW()
            WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
            SELECT SUM(ol_amount) INTO v_total FROM order_line
            WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
            UPDATE customer SET c_balance = c_balance + v_total, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
            SET p_delivered = p_delivered + 1;
        END IF;
    END WHILE;
    COMMIT;
END
-- next
CREATE PROCEDURE stock_level(IN p_w INT, IN p_d INT, IN p_threshold INT, OUT p_low INT)
BEGIN
    DECLARE v_next INT;

    START TRANSACTION;
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT COUNT(DISTINCT s_i_id) INTO p_low
    FROM order_line JOIN stock ON s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
        AND s_w_id = p_w AND s_quantity < p_threshold;
    COMMIT;
END
-- next
CREATE PROCEDURE order_status(IN p_w INT, IN p_d INT, IN p_c INT,
    IN p_last VARCHAR(16) CHARACTER SET latin1, OUT p_order INT, OUT p_lines INT)
BEGIN
    DECLARE v_c, v_namesakes, v_carrier, v_item, v_supply, v_quantity INT;
    DECLARE v_balance, v_amount DECIMAL(12, 2);
    DECLARE v_entry, v_delivered DATETIME;
    DECLARE v_done INT DEFAULT 0;
    DECLARE v_line CURSOR FOR
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = p_order;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;

    START TRANSACTION;
    SET v_c = p_c;
    IF v_c = 0 THEN
        SELECT COUNT(*) INTO v_namesakes FROM customer
        WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
        SET v_namesakes = (v_namesakes - 1) DIV 2;
        SELECT c_id INTO v_c FROM customer
        WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
        ORDER BY c_first LIMIT v_namesakes, 1;
    END IF;
    SELECT c_balance INTO v_balance FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;

    SELECT o_id, o_carrier_id, o_entry_d INTO p_order, v_carrier, v_entry FROM orders
    WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;

    SET p_lines = 0, v_done = 0;
    OPEN v_line;
    FETCH v_line INTO v_item, v_supply, v_quantity, v_amount, v_delivered;
    WHILE v_done = 0 DO
        SET p_lines = p_lines + 1;
        FETCH v_line INTO v_item, v_supply, v_quantity, v_amount, v_delivered;
    END WHILE;
    CLOSE v_line;
    COMMIT;
END
